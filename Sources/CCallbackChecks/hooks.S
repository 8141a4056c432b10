// A hook for each function that a cycle must not call: it counts the call in the thread's cue_check, if
// there is one, and jumps to the function. It changes only registers that a call may change in any case,
// so it does for functions with any arguments.

#if defined(__x86_64__)
  .macro hook name
  movq cue_thread_check@GOTTPOFF(%rip), %r11
  movq %fs:(%r11), %r11
  testq %r11, %r11
  je 1f
  incl 4*index(%r11) // cue_check.calls
1:
  jmpq *\name@GOTPCREL(%rip)
  .endm

#elif defined(__aarch64__)
  .macro hook name
  adrp x16, :gottprel:cue_thread_check
  ldr x16, [x16, :gottprel_lo12:cue_thread_check]
  mrs x17, tpidr_el0
  ldr x16, [x17, x16]
  cbz x16, 1f
  ldr w17, [x16, #4*index] // cue_check.calls
  add w17, w17, #1
  str w17, [x16, #4*index]
1:
  b \name
  .endm

#else
#error "Write these two macros for this processor."
#endif

  // Adds the hook, and an entry with the function's name and the hook's address to cue_hooks.
  .macro function name
  .text
  .balign 16
  .type hook_\name, %function
hook_\name:
  .cfi_startproc
  hook \name
  .cfi_endproc
  .size hook_\name, . - hook_\name
  .section .rodata.str1.1, "aMS", %progbits, 1
name_\name:
  .asciz "\name"
  .section .data.rel.ro, "aw", %progbits
  .quad name_\name, hook_\name
  .set index, index + 1
  .endm

  .set index, 0
  .section .data.rel.ro, "aw", %progbits
  .balign 8
  .globl cue_hooks
  .hidden cue_hooks
  .type cue_hooks, %object
cue_hooks:

  // Memory.
  function malloc
  function calloc
  function realloc
  function reallocarray
  function free
  function posix_memalign
  function aligned_alloc
  function memalign
  function mmap
  function munmap

  // Locks.
  function pthread_mutex_lock
  function pthread_mutex_timedlock
  function pthread_mutex_clocklock
  function pthread_rwlock_rdlock
  function pthread_rwlock_wrlock
  function pthread_cond_wait
  function pthread_cond_timedwait
  function pthread_cond_clockwait
  function pthread_barrier_wait
  function sem_wait
  function sem_timedwait
  function sem_clockwait
  function pthread_create
  function pthread_join

  // Waits. Swift's Mutex and libdispatch wait by syscall.
  function nanosleep
  function clock_nanosleep
  function usleep
  function sleep
  function poll
  function select
  function syscall

  // Files and sockets.
  function open
  function open64
  function openat
  function close
  function read
  function write
  function pread
  function pread64
  function pwrite
  function pwrite64
  function lseek
  function lseek64
  function ioctl
  function send
  function recv
  function connect
  function fopen
  function fopen64
  function fclose
  function fread
  function fwrite
  function fgets
  function fseek
  function fflush
  function fputs
  function fputc
  function puts
  function putchar
  function printf
  function fprintf
  function vprintf
  function vfprintf
  function perror
  function syslog
  // The same, as -D_FORTIFY_SOURCE has programs call them.
  function __printf_chk
  function __fprintf_chk
  function __vprintf_chk
  function __vfprintf_chk
  function __read_chk
  function __fread_chk

  .section .data.rel.ro, "aw", %progbits
  .size cue_hooks, . - cue_hooks
  .globl cue_hook_count
  .hidden cue_hook_count
  .section .rodata
  .balign 4
cue_hook_count:
  .long index
  .if index > 80
  .error "There are more functions than cue_checked_function_limit."
  .endif

  .section .note.GNU-stack, "", %progbits
