import CGlibc
import Glibc

/// A file of a new process, by its number: standard input, output and error come first.
package enum ProcessFile: Sendable {
  /// /dev/null, for reading.
  case nothing
  /// A new file, opened for appending, that must not exist yet.
  case new(path: String)
  /// A file that is open in this process, or an earlier one of the new process.
  case open(Int32)
}

/// Starts a program in a process group of its own, so that an interrupt from the terminal reaches
/// only this process. The new process has no signals blocked or ignored, and no files open but
/// `files`.
///
/// - Parameters:
///   - process: Receives the process id.
///   - arguments: Begin with the program's own name.
///   - environment: Variables as `NAME=value`; nil for this process's environment.
///   - files: Standard input, output and error, and more if the program needs them. A file that is
///     open here must not have the number of an earlier one in the list.
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
        &actions, number, path.systemName, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0o600)
    case .open(let other): unsafe posix_spawn_file_actions_adddup2(&actions, other, number)
    }
  }
  // The program may outlive this process, so it must not keep other open files (sockets, pipes).
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
  var argv: [UnsafeMutablePointer<CChar>?] =
    unsafe arguments.map { unsafe strdup($0.systemName) } + [nil]
  defer { unsafe argv.forEach { unsafe free($0) } }
  guard let environment else {
    return unsafe posix_spawn(&process, program.systemName, &actions, &attributes, &argv, environ)
  }
  var variables: [UnsafeMutablePointer<CChar>?] =
    unsafe environment.map { unsafe strdup($0.systemName) } + [nil]
  defer { unsafe variables.forEach { unsafe free($0) } }
  return unsafe posix_spawn(&process, program.systemName, &actions, &attributes, &argv, &variables)
}

/// Returns the value of an environment variable; nil if it is empty or not set.
package func environmentVariable(_ name: String) -> String? {
  guard let value = unsafe getenv(name), unsafe value.pointee != 0 else { return nil }
  return unsafe String(systemName: value)
}

/// Returns the full path of the program `name`; nil if it cannot be run. Searches PATH unless the
/// name has a slash.
package func findProgram(_ name: String) -> String? {
  if name.contains("/") { return unsafe access(name.systemName, X_OK) == 0 ? name : nil }
  let path = environmentVariable("PATH") ?? "/usr/local/bin:/usr/bin:/bin"
  return path.split(separator: ":").map { "\($0)/\(name)" }.first {
    unsafe access($0.systemName, X_OK) == 0
  }
}
