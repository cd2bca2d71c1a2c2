// SPDX-License-Identifier: MIT
const answer = await (await fetch("trace")).json();
document.getElementById("title").textContent = answer.files.map(file => file.name).join(", ");
for (const file of answer.files)
    for (const track of file.tracks) {
        const item = document.createElement("li");
        item.textContent = `${track.kind} ${track.tid ?? track.s} ${track.name ?? ""}`;
        document.getElementById("tracks").append(item);
    }
