/*
 * tracebed doctor: the current folder's file system, limits of processes, and what the kernel allows.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/doctor/doctor.h"
#include "reader/tools/record/record_verb.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/statfs.h>

#define LITTLE_NBYTES ((uint64_t)1 << 30) /* a recording of some minutes */

struct file_system {
    uint32_t magic;
    const char *name;
    bool is_remote;
};

static const struct file_system file_systems[] = {
    {0xef53, "ext4", false},          {0x58465342, "xfs", false},
    {0x9123683e, "btrfs", false},     {0x01021994, "tmpfs", false},
    {0x794c7630, "overlayfs", false}, {0xf2f52010, "f2fs", false},
    {0x2fc12fc1, "zfs", false},       {0x6969, "NFS", true},
    {0xff534d42, "CIFS", true},       {0xfe534d42, "SMB", true},
    {0x01021997, "9p", true},         {0x65735546, "FUSE", true},
};

static void look_at_folder(struct doctor *doctor)
{
    static const struct file_system other = {0, "another file system", false};
    const struct file_system *found = &other;
    struct statfs status;
    char room[32];
    if (statfs(".", &status) != 0)
        return;
    for (size_t i = 0; i < sizeof file_systems / sizeof file_systems[0]; i++)
        if (file_systems[i].magic == (uint32_t)status.f_type)
            found = &file_systems[i];
    uint64_t free_nbytes = (uint64_t)status.f_bavail * (uint64_t)status.f_bsize;
    tool_format_bytes(room, (double)free_nbytes);
    if (found->is_remote)
        doctor_tell(doctor, "folder", DOCTOR_MISSING, "Record to a local disk: -o /var/tmp/run.tbed",
                    "%s, %s free: slow, and shared maps may not work over the network", found->name, room);
    else if (free_nbytes < LITTLE_NBYTES)
        doctor_tell(doctor, "folder", DOCTOR_MISSING,
                    "Make room, or limit the trace: --max-size, --ring, --rotate", "%s, only %s free",
                    found->name, room);
    else
        doctor_tell(doctor, "folder", DOCTOR_FINE, NULL, "%s, %s free%s", found->name, room,
                    strcmp(found->name, "tmpfs") == 0 ? "; traces take memory here" : "");
}

static void look_at_limits(struct doctor *doctor)
{
    struct rlimit file, space;
    char text[32];
    bool is_limited = getrlimit(RLIMIT_FSIZE, &file) == 0 && file.rlim_cur != RLIM_INFINITY;
    if (is_limited)
        doctor_tell(doctor, "limits", DOCTOR_MISSING, "ulimit -f unlimited",
                    "files may have at most %s; events beyond that are dropped, and counted",
                    tool_format_bytes(text, (double)file.rlim_cur));
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
        doctor_tell(doctor, "limits", DOCTOR_MISSING, "ulimit -v unlimited",
                    "a process may map at most %s: a recording takes an eighth of that, and larger traces "
                    "cannot be read",
                    tool_format_bytes(text, (double)space.rlim_cur));
    else if (!is_limited)
        doctor_tell(doctor, "limits", DOCTOR_FINE, NULL, "none on the size of files and on maps");
}

static void look_at_switches(struct doctor *doctor)
{
    const char *remedy = "It needs Linux with CONFIG_PERF_EVENTS.";
    int paranoid, error = record_switches_try(&remedy);
    FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    bool is_known = file != NULL && fscanf(file, "%d", &paranoid) == 1;
    if (file != NULL)
        fclose(file);
    if (error == 0)
        doctor_tell(doctor, "off-cpu", DOCTOR_FINE, NULL,
                    "the kernel tells when threads wait (record --off-cpu)");
    else if (is_known && paranoid > 2)
        doctor_tell(doctor, "off-cpu", DOCTOR_MISSING, remedy,
                    "record --off-cpu is not allowed: perf_event_paranoid is %d", paranoid);
    else
        doctor_tell(doctor, "off-cpu", DOCTOR_MISSING, remedy, "record --off-cpu is not allowed: %s",
                    strerror(error));
}

void doctor_look_at_machine(struct doctor *doctor)
{
    look_at_folder(doctor);
    look_at_limits(doctor);
    look_at_switches(doctor);
}
