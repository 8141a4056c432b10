import Glibc
import Synchronization

/// The terminal's mode while keys are read: cbreak, without echo.
enum TerminalMode {
  /// The modes before and while keys are read.
  private struct Modes {
    var before: termios
    var reading: termios
  }
  private static let modes = Mutex<Modes?>(nil)
  /// A copy of the mode before for signal handlers, which may not wait for a lock. Allocated by `enter`.
  private nonisolated(unsafe) static var saved: UnsafeMutablePointer<termios>?
  private static let crashes = [
    SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS, SIGQUIT,
  ]

  /// True if this process may change the terminal and read from it without being stopped.
  static var isForeground: Bool { tcgetpgrp(STDIN_FILENO) == getpgrp() }

  /// Enters cbreak mode.
  ///
  /// - Returns: False if standard input is no terminal, or this is a background process.
  static func enter() -> Bool {
    var mode = termios()
    guard isatty(STDIN_FILENO) == 1, isForeground, unsafe tcgetattr(STDIN_FILENO, &mode) == 0 else {
      return false
    }
    let before = mode
    mode.c_lflag &= ~tcflag_t(ICANON | ECHO)
    if unsafe saved == nil {
      unsafe saved = .allocate(capacity: 1)
      unsafe saved?.initialize(to: before)
      atexit { TerminalMode.leave() }
      catchCrashes()
    }
    unsafe saved?.pointee = before
    modes.withLock { $0 = Modes(before: before, reading: mode) }
    return unsafe tcsetattr(STDIN_FILENO, TCSANOW, &mode) == 0
  }

  /// Restores the mode, if it was changed.
  static func leave() {
    modes.withLock { modes in
      guard var mode = modes?.before else { return }
      if isForeground { unsafe tcsetattr(STDIN_FILENO, TCSANOW, &mode) }
      modes = nil
    }
  }

  /// Restores the mode for the shell, while this process is stopped.
  static func suspend() {
    modes.withLock { modes in
      guard var mode = modes?.before else { return }
      unsafe tcsetattr(STDIN_FILENO, TCSANOW, &mode)
    }
  }

  /// Enters the mode again after `suspend`, unless the process goes on in the background.
  static func resume() {
    modes.withLock { modes in
      guard var mode = modes?.reading, isForeground else { return }
      unsafe tcsetattr(STDIN_FILENO, TCSANOW, &mode)
    }
  }

  /// Restores the mode when the process crashes, and lets it crash then.
  private static func catchCrashes() {
    for signal in crashes {
      var action = sigaction()
      unsafe action.__sigaction_handler.sa_handler = { number in
        // Only functions that a signal handler may call.
        if let mode = unsafe TerminalMode.saved { unsafe tcsetattr(STDIN_FILENO, TCSANOW, mode) }
        _ = Glibc.signal(number, SIG_DFL)
        raise(number)
      }
      action.sa_flags = CInt(SA_NODEFER)
      var old = sigaction()
      unsafe sigaction(signal, nil, &old)
      let handler = unsafe unsafeBitCast(old.__sigaction_handler.sa_handler, to: Int.self)
      // Somebody else's handler has reasons of its own.
      if handler == 0 { unsafe sigaction(signal, &action, nil) }
    }
  }
}
