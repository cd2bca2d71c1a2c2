-- Runs program.lua, traced by the example or watched by debug.sethook(): lua run.lua trace|watch calls|allocations|garbage OUT
-- What it prints when it watches is what the trace must have. Its own functions are left out of both.
-- SPDX-License-Identifier: MIT

local how, what, out = arg[1], arg[2], arg[3]
local folder = arg[0]:match("^(.*)/") or "."
local getinfo, sethook, collect = debug.getinfo, debug.sethook, collectgarbage
local own = getinfo(1, "S").short_src
local is_hooking, on_event = false, nil

-- Each coroutine has hooks of its own.
local function with_hook(body)
    return function(...)
        if how == "watch" and what == "calls" then
            is_hooking = true
            sethook(on_event, "cr")
            is_hooking = false
        end
        return body(...)
    end
end

-- A line for each event: the coroutine, what happened, at which depth, and the function.
local events, numbers, number_count = {}, {}, 0
local function watch_calls(event)
    local info = getinfo(2, "nS")
    if is_hooking or (info.what ~= "C" and info.short_src == own and event == "return") then
        return
    end
    local depth = 0
    while getinfo(depth + 2, "l") do
        depth = depth + 1
    end
    local thread = coroutine.running()
    if not numbers[thread] then
        number_count = number_count + 1
        numbers[thread] = number_count
    end
    local name = info.what == "C" and (info.name or "?")
        or info.short_src .. ":" .. math.max(info.linedefined, 1)
    events[#events + 1] = table.concat({ numbers[thread], event, depth, name }, "\t")
end

-- What the counter of memory has risen by since the last event, by the line that ran.
local places, place, before = {}, "", 0
local function line_at(level)
    local info = getinfo(level, "Sl")
    while info and info.currentline < 0 do
        level = level + 1
        info = getinfo(level, "Sl")
    end
    return info and info.short_src .. ":" .. info.currentline or "?"
end
local function watch_memory(event)
    local now = collect("count")
    places[place] = (places[place] or 0) + (now - before) * 1024
    place = line_at(event == "return" and 4 or 3)
    before = collect("count")
end

local program = dofile(folder .. "/program.lua")
local function calls()
    program.errors()
    program.count_down(3)
    program.coroutines()
end

-- So that what Lua keeps for itself does not grow: stack, strings, calls. Nothing is collected, so runs are alike.
local keep = { "call", "tail call", "return", "line" }
local function warm_up(n)
    keep[n], keep[-n] = "warm" .. n, tostring(n)
    return n == 0 and 0 or 1 + warm_up(n - 1)
end

warm_up(9000)
collect()
collect("stop")
if what == "calls" then
    local create, wrap = coroutine.create, coroutine.wrap
    coroutine.create = function(body) return create(with_hook(body)) end
    coroutine.wrap = function(body) return wrap(with_hook(body)) end
end

if how == "trace" then
    local tracebed = require("tracebed_lua")
    local work = what == "calls" and calls or program[what == "garbage" and what or "memory"]
    local first, last = 0, 0
    collect()
    tracebed.start(out, what == "calls" and what or "allocations")
    if what == "garbage" then
        collect("restart")
    end
    if what == "calls" then
        work()
    else
        first = collect("count")
        work()
        last = collect("count")
    end
    tracebed.stop()
    print((last - first) * 1024)
elseif what == "calls" then
    on_event = watch_calls
    sethook(on_event, "cr")
    calls()
    is_hooking = true
    sethook()
    print(table.concat(events, "\n"))
    for thread, number in pairs(numbers) do
        if coroutine.status(thread) == "suspended" then
            print(number .. "\twaits\t0\t")
        end
    end
else
    local work = program.memory
    before = collect("count")
    sethook(watch_memory, "crl")
    work()
    sethook()
    for name, nbytes in pairs(places) do
        print(("%s\t%d"):format(name, nbytes))
    end
end
