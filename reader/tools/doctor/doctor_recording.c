/*
 * tracebed doctor: records this program itself, in the current folder, which needs everything that recording needs: the
 * library, the file system and its maps, limits, rights. Its trace also tells which clock this machine has.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define READINGS 20000

/* ---- The clock ---- */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static double reading_ns(enum tbed_clock clock)
{
    uint64_t sum = 0, begin = now_ns();
    for (int i = 0; i < READINGS; i++)
#if defined __x86_64__ || defined __i386__
        sum += clock == TBED_CLOCK_X86_TSC ? __builtin_ia32_rdtsc() : now_ns();
#else
        sum += now_ns();
#endif
    (void)clock;
    __asm__ volatile("" ::"r"(&sum) : "memory"); /* the sum is used */
    return (double)(now_ns() - begin) / READINGS;
}

static void tell_clock(struct doctor *doctor, const struct tbed_trace_info *info)
{
    double cost = reading_ns(info->clock);
    if (info->clock != TBED_CLOCK_MONOTONIC)
        doctor_tell(doctor, "clock", DOCTOR_FINE, NULL,
                    "the processor's counter, %.3f GHz; a reading takes %.0f ns",
                    (double)info->ticks_per_second / 1e9, cost);
    else
        doctor_tell(
            doctor, "clock", DOCTOR_MISSING,
            info->clock_reason == TBED_CLOCK_NOT_STEADY
                ? "Virtual machines: let the hypervisor offer an invariant time stamp counter."
                : "/sys/devices/system/clocksource/clocksource0 shows what the kernel uses, and its log why.",
            "%s, so times come from CLOCK_MONOTONIC; a reading takes %.0f ns",
            info->clock_reason == TBED_CLOCK_NOT_STEADY ? "the processor has no counter that is steady"
                                                        : "the kernel does not offer the processor's counter",
            cost);
}

/* ---- The recording ---- */

struct trial {
    char folder[32], trace[48], log[48];
};

static int run_record(const struct trial *trial)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open(trial->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        dup2(fd >= 0 ? fd : open("/dev/null", O_WRONLY), STDERR_FILENO);
        dup2(STDERR_FILENO, STDOUT_FILENO);
        signal(SIGPIPE, SIG_DFL);
        const char *program = doctor_program();
        execl(program, "tracebed", "--no-defaults", "record", "-o", trial->trace, "--", program, "--version",
              (char *)NULL);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* What 'record' complained about, in one line. */
static void read_log(const struct trial *trial, char *text, size_t room)
{
    FILE *log = fopen(trial->log, "re");
    size_t nbytes = log != NULL ? fread(text, 1, room - 1, log) : 0;
    if (log != NULL)
        fclose(log);
    while (nbytes > 0 && text[nbytes - 1] == '\n')
        nbytes--;
    text[nbytes] = '\0';
    for (char *end; (end = strchr(text, '\n')) != NULL;)
        *end = ' ';
}

static void tell_trial(struct doctor *doctor, const struct trial *trial)
{
    char said[1024];
    struct tbed_trace_info info;
    struct tbed_error error;
    int status = run_record(trial);
    struct tbed_reader *reader = status == 0 ? tool_open_quietly(trial->trace, &error) : NULL;
    read_log(trial, said, sizeof said);
    if (reader == NULL) {
        doctor_tell(doctor, "recording", DOCTOR_BROKEN,
                    "Look for the message in the manual, docs/troubleshooting.md; try another folder.",
                    "a program that is recorded here fails (status %d): %s", status, said);
        return;
    }
    tbed_reader_info(reader, &info);
    doctor_tell(doctor, "recording", tool_drops_total(info.drops) == 0 ? DOCTOR_FINE : DOCTOR_BROKEN, NULL,
                "a program was recorded in this folder, %s",
                tool_drops_total(info.drops) == 0 ? "and its trace is complete" : said);
    tell_clock(doctor, &info);
    tbed_reader_close(reader);
}

void doctor_look_at_recording(struct doctor *doctor)
{
    struct trial trial = {.folder = ".tracebed-doctor-XXXXXX"};
    if (mkdtemp(trial.folder) == NULL) {
        doctor_tell(doctor, "recording", DOCTOR_BROKEN,
                    "Go to a folder that you may write to, or use 'record -o /tmp/run.tbed'.",
                    "the current folder cannot be written: %s", strerror(errno));
        return;
    }
    snprintf(trial.trace, sizeof trial.trace, "%s/t.tbed", trial.folder);
    snprintf(trial.log, sizeof trial.log, "%s/log", trial.folder);
    tell_trial(doctor, &trial);
    unlink(trial.trace);
    unlink(trial.log);
    rmdir(trial.folder);
}
