import ArgumentParser
import Files
import Graph
import PluginHost
import RealTime
import Sessions

/// `cuejack session check`.
struct CheckSession: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Check a session's file, names, sounds, plugins and formats.",
    discussion: """
      A syntax error is named with its line and column, any other fault with its path, such as \
      tracks[3].gain. All faults are listed. The exit code is 1 if there is an error: the \
      session cannot run. With a warning it can: a track whose sound file is missing is silent.
      """
        + examples(
          "cuejack session check duo",
          "cuejack session check duo --no-plugins --json"))

  @Flag(help: "Print a JSON object. Its member “faults” is a list.")
  var json = false

  @Flag(help: "Do not look for plugins.")
  var noPlugins = false

  @Argument(help: "The folder of the session.", completion: .directory)
  var folder: String

  /// The property names are the JSON keys, so they must not change.
  private struct Report: Encodable {
    struct Fault: Encodable {
      let severity: SessionFault.Severity
      /// Path of the value; absent for a syntax error.
      let path: String?
      /// Line and column of a syntax error.
      var line, column: Int?
      let message: String
    }
    let file: String
    var faults: [Fault] = []
    /// Number of edits that are only in the journal.
    var unsavedEdits = 0
  }

  func run() throws {
    var report = Report(file: "\(folder)/\(SessionStore.file)")
    do throws(SessionError) {
      let reading = try SessionStore.read(folder)
      report.unsavedEdits = reading.restored
      for notice in reading.notices { Screen.shared.remark(notice) }
      let sessionFolder = try SessionFolder(opening: folder)
      let check = Self.check(in: sessionFolder, looksForPlugins: !noPlugins)
      add(SessionFaults(check.faults(of: reading.document)).list, &report)
    } catch {
      switch error {
      case .faults(_, let faults): add(faults, &report)
      case .syntax(_, let line, let column, let reason):
        report.faults.append(
          Report.Fault(severity: .error, path: nil, line: line, column: column, message: reason))
      default:
        Screen.shared.remark(error.description)
        throw ExitCode.failure
      }
    }
    if json {
      try printJSON(report)
    } else {
      for fault in report.faults { Screen.shared.remark(words(for: fault, report.file)) }
      let count = report.faults.count
      Screen.shared.say(
        count == 0 ? "\(folder): no faults" : "\(folder): \(count) fault\(count == 1 ? "" : "s")")
    }
    if report.faults.contains(where: { $0.severity == .error }) { throw ExitCode.failure }
  }

  private func add(_ faults: [SessionFault], _ report: inout Report) {
    report.faults += faults.map {
      Report.Fault(severity: $0.severity, path: $0.path.description, message: $0.message)
    }
  }

  private func words(for fault: Report.Fault, _ file: String) -> String {
    var words = file
    if let line = fault.line, let column = fault.column { words += ":\(line):\(column)" }
    if let path = fault.path, !path.isEmpty { words += ": \(path)" }
    return words + (fault.severity == .warning ? ": warning: " : ": ") + fault.message
  }

  /// Returns the check of a session in a folder, on this machine.
  static func check(in folder: SessionFolder, looksForPlugins: Bool) -> SessionCheck {
    var check = SessionCheck()
    check.sound = { SoundFiles.check(folder.location(of: $0)) }
    check.soundFont = {
      SoundFiles.check(folder.location(of: $0), SoundFiles.reasonAgainstSoundFont)
    }
    check.state = { name in
      do throws(SessionError) {
        guard let path = try folder.pathOfFolder(name) else { return .missing }
        do throws(HostError) {
          try PluginState.check(path)
          return .present
        } catch {
          return .unusable(error.description)
        }
      } catch {
        return .unusable(error.description)
      }
    }
    check.format = { recording in
      do throws(SoundFileError) {
        return try faultOfFormat(recording)
      } catch {
        return error.description
      }
    }
    if looksForPlugins {
      let plugins = PluginCheck(World.named)
      check.plugin = plugins.faults(of:)
    }
    return check
  }

  /// Returns why the file of a recording cannot be written; nil if it can.
  private static func faultOfFormat(_ recording: SessionRecording) throws(SoundFileError) -> String?
  {
    var coding: SoundCoding?
    if let name = recording.format {
      coding = SoundCoding(name)
      if coding == nil {
        let names = SoundCoding.names.joined(separator: ", ")
        return "there is no format “\(name)”, but \(names)"
      }
    }
    if recording.bits != nil, case .pcm = coding {
      return "the format \(recording.format ?? "") says how many bits: leave “bits” out"
    }
    let format = try SoundFormat(
      path: recording.file, coding: coding, bits: recording.bits,
      pcm: .pcm(.signedInteger, bits: 24), losslessBits: 24)
    let channels = max(1, recording.ports.count)
    let stream = format.stream(sampleRate: format.usableRate(for: 48000), channels: channels)
    if MediaFiles.canWrite(stream, in: format.container) { return nil }
    return "\(recording.file): \(format.container) files cannot hold \(stream.summary)"
  }
}
