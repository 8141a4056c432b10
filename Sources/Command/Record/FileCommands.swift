import Glibc
import System

/// The commands that run for files of a recording. Any thread that is not real time.
final class FileCommands: Sendable {
  private let running = Monitor(0)

  /// Starts a command for a file. Messages tell if it cannot be started, or fails. The command writes to standard error.
  func run(_ command: FileCommand?, for path: String) {
    guard let command else { return }
    let words = command.words(for: path)
    guard let program = command.program else {
      return Screen.shared.remark("\(words[0]): there is no such program")
    }
    var process: Int32 = 0
    let failure = startProcess(
      &process, program, words,
      files: [.nothing, .open(ForeignOutput.error), .open(ForeignOutput.error)])
    guard failure == 0 else {
      return Screen.shared.remark("\(program): \(unsafe String(cString: strerror(failure)))")
    }
    running.change { $0 += 1 }
    startThread(named: "cuejack-command") { [running, process] in
      var status: CInt = 0
      while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
      if status != 0 {
        let code = status & 0x7F
        let reason = code == 0 ? "exit code \(status >> 8 & 0xFF)" : "signal \(code)"
        Screen.shared.remark("\(words.joined(separator: " ")): it failed with \(reason)")
      }
      running.change { $0 -= 1 }
    }
  }

  /// Waits until all commands have ended.
  func waitUntilIdle() { running.wait { $0 == 0 ? () : nil } }
}
