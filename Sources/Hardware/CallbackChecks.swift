import CCallbackChecks
import CRealTime
import Glibc
import Logging
import System

/// Checks of the app's callbacks in the cycles of devices, for the environment variable
/// `CUEJACK_CHECK_CALLBACKS=1`.
///
/// A thread of its own writes to the log, once a second, what each callback did that it must not do in a
/// cycle. The end of the process writes the rest.
package enum CallbackChecks {
  /// Starts the checks when it is first read, if the variable asks for them. Not real time.
  static let start: Void = {
    guard environmentVariable("CUEJACK_CHECK_CALLBACKS") == "1" else { return }
    cue_install_hooks()
    cue_start_checks()
    atexit { report() }
    startThread(named: "cuejack-checks") {
      while true {
        sleep(1)
        // The app may have loaded more libraries.
        cue_install_hooks()
        report()
      }
    }
  }()

  /// Runs a function of the library that the app may call in a callback. What the function does is not the
  /// callback's fault, and is not counted.
  package static func excepting<R>(_ body: () -> R) -> R {
    let check = unsafe cue_suspend_check()
    defer { unsafe cue_resume_check(check) }
    return body()
  }

  /// Writes what was recorded since the last time. Any thread.
  private static func report() {
    var report = cue_check_report()
    for i in 0..<UInt32(cue_check_record_count) where unsafe cue_take_report(i, &report) {
      log.error("\(text(of: report))")
    }
  }

  private static func text(of report: cue_check_report) -> String {
    var done: [String] = []
    let calls = report.calls
    unsafe withUnsafeBytes(of: calls) { bytes in
      let counts = unsafe bytes.assumingMemoryBound(to: UInt32.self)
      for unsafe(i, count) in unsafe counts.enumerated() where count > 0 {
        guard let function = unsafe cue_hooked_function(UInt32(i)) else { continue }
        done.append("called \(unsafe String(cString: function)) \(times(count))")
      }
    }
    if report.late > 0 {
      done.append(
        "was late \(times(report.late)): it took up to \(milliseconds(report.longest)) of "
          + milliseconds(report.allowed))
    }
    return
      "the callback \(name(report.callback)) must not allocate, lock or wait in the cycle, but "
      + done.joined(separator: ", ")
  }

  private static func times(_ count: UInt32) -> String { count == 1 ? "once" : "\(count) times" }

  private static func milliseconds(_ microseconds: UInt32) -> String {
    "\(Double(microseconds / 100) / 10) ms"
  }

  /// Returns the name of the function at an address, and the file that contains it. Without a name, its
  /// distance from the file's beginning, for addr2line.
  private static func name(_ address: UInt) -> String {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 2048) { name in
      unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { object in
        var offset: UInt = 0
        guard
          unsafe cue_find_function(
            address, name.baseAddress!, name.count, object.baseAddress!, object.count, &offset)
        else { return "at 0x\(String(address, radix: 16))" }
        let file = unsafe String(cString: object.baseAddress!)
        let function = unsafe String(cString: name.baseAddress!)
        return function.isEmpty
          ? "at 0x\(String(offset, radix: 16)) of \(file)" : "\(function) of \(file)"
      }
    }
  }
}
