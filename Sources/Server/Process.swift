import CJack
import Glibc

/// What one of the files of a new process is: the three standard ones come first.
package enum ProcessFile: Sendable {
  /// Nothing to read.
  case nothing
  /// A new file, which must not be there yet, that is appended to.
  case new(path: String)
  /// A file that is open here, or one of the new process that comes before this one.
  case open(Int32)
}

/// Starts a program in a process group of its own (an interrupt from the terminal is for us), with no
/// signal blocked or ignored, and with no file open but `files`.
///
/// - Parameters:
///   - process: Where its number goes.
///   - arguments: With the program's own name first.
///   - environment: Its variables as `NAME=value`; nil for ours.
///   - files: Standard input, output and error, and more if it needs them. Those that are open here must not
///     have the number of one that comes before them.
/// - Returns: 0, or the system's error number.
package func startProcess(
  _ process: inout Int32, _ program: String, _ arguments: [String],
  environment: [String]? = nil, files: [ProcessFile]
) -> Int32 {
  var actions = unsafe posix_spawn_file_actions_t()
  unsafe posix_spawn_file_actions_init(&actions)
  defer { unsafe posix_spawn_file_actions_destroy(&actions) }
  for (i, file) in files.enumerated() {
    let number = CInt(i)
    switch file {
    case .nothing:
      unsafe posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDONLY, 0)
    case .new(let path):
      unsafe posix_spawn_file_actions_addopen(
        &actions, number, path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0o600)
    case .open(let other): unsafe posix_spawn_file_actions_adddup2(&actions, other, number)
    }
  }
  // It may outlive us: what else we have open (sockets, pipes) is not for it to keep.
  _ = unsafe cue_spawn_close_from(&actions, CInt(files.count))
  var attributes = posix_spawnattr_t()
  unsafe posix_spawnattr_init(&attributes)
  defer { unsafe posix_spawnattr_destroy(&attributes) }
  unsafe posix_spawnattr_setpgroup(&attributes, 0)
  var none = sigset_t()
  unsafe sigemptyset(&none)
  unsafe posix_spawnattr_setsigmask(&attributes, &none)
  var all = sigset_t()
  unsafe sigfillset(&all)
  unsafe posix_spawnattr_setsigdefault(&attributes, &all)
  unsafe posix_spawnattr_setflags(
    &attributes,
    Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
  var argv: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) } + [nil]
  defer { unsafe argv.forEach { unsafe free($0) } }
  guard let environment else {
    return unsafe posix_spawn(&process, program, &actions, &attributes, &argv, environ)
  }
  var variables: [UnsafeMutablePointer<CChar>?] =
    unsafe environment.map { unsafe strdup($0) } + [nil]
  defer { unsafe variables.forEach { unsafe free($0) } }
  return unsafe posix_spawn(&process, program, &actions, &attributes, &argv, &variables)
}
