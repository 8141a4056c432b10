import ArgumentParser
import Files
import Foundation
import RealTime

/// `cuejack info`: what is in sound files.
struct Info: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Show what is in sound files.")

  @Flag(help: "Print an array of JSON objects, one for each file that can be read.")
  var json = false

  @Argument(help: "AIFF, AIFF-C, CAF, WAVE, RF64, Wave64 or AU files of linear PCM.")
  var files: [String]

  func run() throws {
    var reports: [FileReport] = []
    var failed = false
    for path in files {
      do throws(SoundFileError) {
        let file = try SoundFile(path: path)
        if let warning = file.warning { printError(warning) }
        let report = FileReport(file)
        if json { reports.append(report) } else { print(report.words) }
      } catch {
        printError(error.description)
        failed = true
      }
    }
    if json {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      print(String(decoding: try encoder.encode(reports), as: UTF8.self))
    }
    if failed { throw ExitCode.failure }
  }

  private func printError(_ message: String) {
    FileHandle.standardError.write(Data("cuejack: \(message)\n".utf8))
  }
}

/// What `cuejack info` says of one file. The names of the fields are the keys of the JSON: they stay.
struct FileReport: Encodable {
  let path: String
  /// The container's name.
  let container: String
  /// The coding in words.
  let format: String
  let bitsPerSample: Int
  /// "signed integer", "unsigned integer" or "float".
  let sampleType: String
  /// "big" or "little".
  let byteOrder: String
  let channels: Int
  /// What each channel is for; absent if the file does not say.
  let layout: [String]?
  /// Frames per second.
  let sampleRate: Double
  let frames: Int64
  /// Seconds.
  let duration: Double
  /// Bytes in the file.
  let size: Int64
  /// True if the file has fewer frames than its head says.
  let truncated: Bool

  init(_ file: SoundFile) {
    path = file.path
    container = file.container.description
    bitsPerSample = file.format.bitsPerSample
    sampleType =
      switch file.format.kind {
      case .signedInteger: "signed integer"
      case .unsignedInteger: "unsigned integer"
      case .float: "float"
      }
    byteOrder = file.format.isBigEndian ? "big" : "little"
    format =
      bitsPerSample == 8
      ? "8-bit \(sampleType)" : "\(bitsPerSample)-bit \(sampleType), \(byteOrder)-endian"
    channels = file.format.channels
    layout = file.channelRoles?.map(\.description)
    sampleRate = file.format.sampleRate
    frames = file.frames
    duration = file.duration
    size = file.fileByteCount
    truncated = file.isTruncated
  }

  /// The report as lines of text.
  var words: String {
    var channelWords = "\(channels)"
    if let layout { channelWords += " (\(layout.joined(separator: ", ")))" }
    let rate = sampleRate == sampleRate.rounded() ? "\(Int64(sampleRate))" : "\(sampleRate)"
    let rows = [
      ("container", container),
      ("format", format),
      ("channels", channelWords),
      ("rate", "\(rate) Hz"),
      ("duration", "\(clock(duration)) (\(frames) frames)"),
      ("size", "\(size) bytes"),
    ]
    let lines = rows.map { name, value in
      "  \(name):\(String(repeating: " ", count: 10 - name.count))\(value)"
    }
    return ([path] + lines).joined(separator: "\n")
  }

  /// Hours, minutes and seconds to the millisecond.
  private func clock(_ seconds: Double) -> String {
    let milliseconds = Int64((seconds * 1000).rounded())
    let (minutes, rest) = (milliseconds / 60_000, milliseconds % 60_000)
    let tail = String(format: "%02lld:%02lld.%03lld", minutes % 60, rest / 1000, rest % 1000)
    return minutes < 60 ? tail : "\(minutes / 60):\(tail)"
  }
}
