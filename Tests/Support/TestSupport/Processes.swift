import Foundation

/// Returns the identifiers of a process's children that it has not waited for.
package func childProcesses(of process: Int32) -> [Int32] {
  let tasks = "/proc/\(process)/task"
  let threads = (try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? []
  return threads.flatMap { thread in
    text(of: URL(fileURLWithPath: "\(tasks)/\(thread)/children"))
      .split(whereSeparator: \.isWhitespace).compactMap { Int32($0) }
  }
}

/// Returns the names of a process's threads.
package func threadNames(of process: Int32) -> [String] {
  let tasks = "/proc/\(process)/task"
  let threads = (try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? []
  return threads.map { thread in
    text(of: URL(fileURLWithPath: "\(tasks)/\(thread)/comm"))
      .trimmingCharacters(in: .newlines)
  }
}

/// Stops a process and waits until all its threads are stopped.
package func stop(_ process: Int32) {
  kill(process, SIGSTOP)
  let tasks = "/proc/\(process)/task"
  let end = Date() + 20
  while Date() < end {
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? []
    let stand = threads.allSatisfy {
      text(of: URL(fileURLWithPath: "\(tasks)/\($0)/stat")).split(separator: ") ").last?
        .hasPrefix("T") ?? true
    }
    if stand { return }
    usleep(1000)
  }
}

/// Returns whether a process has ended, even if its parent has not waited for it.
package func hasEnded(_ process: Int32) -> Bool {
  // The process name, in parentheses, may contain spaces.
  let words = text(of: URL(fileURLWithPath: "/proc/\(process)/stat")).split(separator: ") ")
  return words.count < 2 || words.last!.hasPrefix("Z")
}
