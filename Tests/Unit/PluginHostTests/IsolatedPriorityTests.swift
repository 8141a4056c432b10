import Foundation
import Graph
import Server
import Synchronization
import System
import TestSupport
import Testing

@testable import PluginHost

/// The thread that runs an isolated plugin has the priority of the cycles.
@Suite(.serialized) struct IsolatedPriorityTests {
  /// Returns whether this system permits real-time priority.
  private func isAllowed() -> Bool {
    let answer = Mutex<Bool?>(nil)
    let isDone = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      answer.withLock { $0 = runInRealTime(priority: 5) }
      isDone.signal()
    }
    isDone.wait()
    return answer.withLock { $0 } == true
  }

  /// Returns whether a thread of the process has SCHED_FIFO priority 5.
  private func hasPriority(_ process: Int32) -> Bool {
    let tasks = "/proc/\(process)/task"
    return ((try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? []).contains {
      thread in
      // The process name, in parentheses, may contain spaces. All fields from the third on follow it.
      let words = text(of: URL(fileURLWithPath: "\(tasks)/\(thread)/stat")).split(separator: ") ")
      let fields = words.last?.split(separator: " ") ?? []
      return fields.count > 38 && fields[37] == "5" && fields[38] == "1"
    }
  }

  /// Also with PipeWire's libjack, if installed. It raises no thread of a process without a client.
  @Test(arguments: ["", "/usr/lib/x86_64-linux-gnu/pipewire-0.3/jack"])
  func aPluginsThreadHasThePriorityOfTheCycles(libraries: String) throws {
    let isAllowed = isAllowed()
    let program = IsolationProgram(
      executable: "/usr/bin/env",
      arguments: ["LD_LIBRARY_PATH=\(libraries)"] + [try isolation().executable] + [
        "plugins", "host",
      ])
    let plugin = try IsolatedPlugin(
      examples + "amp", in: installed, settings: usual, priority: 5, program: program)
    let end = Date() + 20
    while isAllowed, !hasPriority(plugin.process.identifier), Date() < end { usleep(5000) }
    expectEqual(hasPriority(plugin.process.identifier), isAllowed)
  }
}
