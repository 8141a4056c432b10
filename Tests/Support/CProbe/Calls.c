// Counts the system calls of one thread by trapping each of them.
#define _GNU_SOURCE
#include "CProbe.h"
#include "Marks.h"
#include <stddef.h>

#if PROBE && defined(__linux__) && defined(__x86_64__)
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

// Makes a system call from an address that the filter permits.
long cue_probe_call(long number, long a, long b, long c, long d, long e, long f);
extern const char cue_probe_let_through[];
__asm__(".text\n"
        ".globl cue_probe_call\n"
        ".type cue_probe_call, @function\n"
        "cue_probe_call:\n"
        "  mov %rdi, %rax\n"
        "  mov %rsi, %rdi\n"
        "  mov %rdx, %rsi\n"
        "  mov %rcx, %rdx\n"
        "  mov %r8, %r10\n"
        "  mov %r9, %r8\n"
        "  mov 8(%rsp), %r9\n"
        "  syscall\n"
        ".globl cue_probe_let_through\n"
        "cue_probe_let_through:\n"
        "  ret\n"
        ".size cue_probe_call, . - cue_probe_call\n");

// Handles SIGSYS: counts the call, makes it and stores its result in the caller's register.
static void trapped(int signal, siginfo_t *info, void *context) {
  (void)signal;
  (void)info;
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  long number = registers[REG_RAX];
  if (cue_probe_marked) {
    bool wakes = number == SYS_futex && (registers[REG_RSI] & FUTEX_CMD_MASK) == FUTEX_WAKE;
    if (wakes)
      cue_probe_marked_counts.wakes++;
    else
      cue_probe_marked_counts.calls++;
  }
  registers[REG_RAX] =
      cue_probe_call(number, registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                     registers[REG_R10], registers[REG_R8], registers[REG_R9]);
}

bool cue_probe_watch_calls(void) {
  struct sigaction action = {.sa_sigaction = trapped, .sa_flags = SA_SIGINFO | SA_NODEFER};
  if (sigaction(SIGSYS, &action, NULL) != 0) return false;
  // The kernel reports the address of the instruction after the call.
  uint64_t address = (uint64_t)(uintptr_t)cue_probe_let_through;
  const uint32_t pointer = offsetof(struct seccomp_data, instruction_pointer);
  struct sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      // The return from the handler.
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 4, 0),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, pointer),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)address, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, pointer + 4),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(address >> 32), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
  };
  struct sock_fprog filter = {sizeof program / sizeof *program, program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

#else

bool cue_probe_watch_calls(void) {
  return false;
}

#endif
