import ArgumentParser
import Files
import Glibc
import Sessions
import System

/// Options of `cuejack record` for the start of a recording, and for its files.
struct TakeOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Go on in another file after this time or size.",
      discussion: """
        A time as for --seconds, or a size such as 650MB, 1GB (1000 MB) or 2GiB (2048 MiB). The files joined \
        are the recording: bit for bit in linear PCM and lossless codecs; a lossy codec begins anew in each \
        file, and each has exactly its frames. A file of linear PCM is no larger than the size, one of a \
        codec is larger by less than half a second. Without %n in the name, the number stands before the \
        extension, as in take-001.wav.
        """,
      valueName: "time|size"))
  var split: SplitValue?

  @Option(
    help: ArgumentHelp(
      "Begin with this much sound from before the start of the recording: ten minutes at most.",
      discussion: """
        The recording waits for its start: the key space on a terminal, --start-on-sound, or --transport. \
        --seconds counts the frames of the file, with the pre-roll.
        """,
      valueName: "time"),
    transform: TimeValue.init(parsing:))
  var preRoll: TimeValue?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Wait until a sample of any channel exceeds this level, such as -50dB, and start on its frame.",
      discussion: "--stop-on-silence ends the recording when it gets silent again.",
      valueName: "level"))
  var startOnSound: LevelValue?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "End after this much time without a sample above a level, such as -60dB,2.",
      discussion: """
        The file ends with that silence: it has all of the time. A recording that waits for its start does not \
        end before.
        """,
      valueName: "level,time"))
  var stopOnSilence: SilenceValue?

  @Flag(
    help: ArgumentHelp(
      "After the end, wait for the next start, and record to the next file.",
      discussion: """
        For --start-on-sound, --pre-roll and --transport; --stop-on-silence, the transport, or `cuejack set \
        CLIENT stop` end a take. Without %n in the name, the number stands before the extension, as in \
        take-001.wav. --seconds counts the frames of all files.
        """))
  var again = false

  @Flag(
    help: ArgumentHelp(
      "Record each channel to a file of its own, as in take-1.wav and take-2.wav.",
      discussion: "The number of the channel stands before the extension, behind that of %n."))
  var channelsApart = false

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "The gain of the input: a factor or decibels, as for play. Default: 1.", valueName: "gain"),
    transform: GainValue.init(parsing:))
  var gain: GainValue?

  @Option(
    help: ArgumentHelp(
      "Run this command for each file that has been opened, with its path.",
      discussion: """
        The words are separated by spaces; quotation marks ('…' or "…") and backslashes keep a space in a word. \
        There is no shell: nothing else has a meaning. {} in a word is the path; without one, the path is the last \
        word.
        """, valueName: "command"))
  var onOpen: FileCommand?

  @Option(
    help: ArgumentHelp(
      "Run this command for each file that is complete, with its path.",
      discussion:
        "As --on-open. The recording goes on meanwhile, and ends when the commands have ended.",
      valueName: "command"))
  var onClose: FileCommand?

  @Flag(
    help: ArgumentHelp(
      "Start on the frame on which JACK's transport rolls, and end on the frame on which it stops.",
      discussion: """
        If the transport rolls already, the recording starts at once. It is not affected by jumps of the \
        transport. A transport that went away with its server does not end it.
        """))
  var transport = false

  /// The options that may be given once.
  static let singleOptions = [
    "--split", "--pre-roll", "--start-on-sound", "--stop-on-silence", "--gain", "--on-open",
    "--on-close",
  ]

  /// The longest pre-roll in seconds.
  private static let longestPreRoll = 600.0

  /// Ends the command with a usage error if options exclude each other.
  func check(with client: ClientOptions) throws {
    if let preRoll {
      try Command.check(
        !preRoll.isZero && preRoll.seconds(at: 48000) <= Self.longestPreRoll,
        "--pre-roll takes a time greater than 0, of ten minutes at most")
      try Command.check(
        startOnSound != nil || transport || isatty(STDIN_FILENO) == 1 && Screen.shared.isTerminal,
        "--pre-roll: nothing would start the recording: give --start-on-sound or --transport, or start it by a key on a terminal"
      )
      try Command.check(
        client.at == nil || startOnSound != nil,
        "--at and --pre-roll exclude each other: --at names the first frame itself")
    }
    for (option, command) in [("--on-open", onOpen), ("--on-close", onClose)] {
      guard let command else { continue }
      try Command.check(
        command.program != nil, "\(option): there is no program “\(command.words[0])”")
    }
    try Command.check(
      client.at == nil || !transport, "--at and --transport exclude each other")
    try Command.check(
      !again || waits,
      "--again is for recordings that wait: --start-on-sound, --transport or --pre-roll")
  }

  /// True if the recording waits for its start.
  private var waits: Bool { preRoll != nil || startOnSound != nil || transport }

  /// Returns the names of the files. Ends the command with a usage error if the template is wrong.
  func names(for file: String) throws -> RecordingNames {
    do throws(RecordingNames.Fault) {
      return try RecordingNames(file, isSplit: split != nil || again)
    } catch {
      switch error {
      case .unknownConversion(let text):
        throw ValidationError(
          "\(file): “\(text)” stands for nothing: a name takes %n, conversions of strftime such as %Y%m%d-%H%M%S, and %% for a percent sign"
        )
      }
    }
  }

  /// Returns the length of a file; nil for one file. Ends the command if it is too short.
  func split(of file: String, at sampleRate: Double) throws -> RecordingSplit? {
    switch split {
    case nil: return nil
    case .bytes(let bytes)?: return .bytes(bytes)
    case .time(let time)?:
      let frames = time.frames(at: sampleRate)
      if Double(frames) < SplitValue.leastSeconds * sampleRate {
        Screen.shared.complain("\(file): --split takes 100 ms at least, not \(frames) frames")
        throw ExitCode.failure
      }
      return .frames(frames)
    }
  }

  /// Returns the template of a channel's files, which count from 1.
  func template(_ file: String, channel: Int) -> String {
    channelsApart ? "\(file.pathStem)-\(channel)\(file.pathExtension)" : file
  }

  /// Returns the start for which the recording waits, and the end; nil if the recording begins and ends without them.
  func trigger(at sampleRate: Double) -> RecordingTrigger? {
    guard waits || stopOnSilence != nil else { return nil }
    return RecordingTrigger(
      preRollFrames: preRoll?.frames(at: sampleRate) ?? 0, threshold: startOnSound?.factor,
      followsTransport: transport,
      silence: stopOnSilence.map {
        RecordingTrigger.Silence(
          level: $0.level.factor, frames: max(1, $0.time.frames(at: sampleRate)))
      }, repeats: again, waits: waits)
  }

  /// A line about what the recording waits for.
  func waitingWords(isTerminal: Bool) -> String {
    var starts: [String] = []
    if let startOnSound { starts.append("a sample above \(startOnSound.words)") }
    if transport { starts.append("the transport") }
    if isTerminal { starts.append("the key space") }
    return "waiting for \(starts.joined(separator: " or "))"
  }
}

/// The value of `--split`: a time, or the size of a file.
enum SplitValue: ExpressibleByArgument, Equatable {
  case time(TimeValue)
  case bytes(Int64)

  static let leastSeconds = 0.1
  private static let leastBytes = 100_000.0
  private static let units: [(name: String, bytes: Double)] = [
    ("kib", 1024), ("mib", 0x1p20), ("gib", 0x1p30), ("tib", 0x1p40),
    ("kb", 1e3), ("mb", 1e6), ("gb", 1e9), ("tb", 1e12),
  ]

  init?(argument: String) {
    let word = argument.lowercased()
    if let unit = Self.units.first(where: { word.hasSuffix($0.name) }) {
      guard let number = TimeValue.number(word.dropLast(unit.name.count)) else { return nil }
      let bytes = (number * unit.bytes).rounded()
      guard (Self.leastBytes...1e18).contains(bytes) else { return nil }
      self = .bytes(Int64(bytes))
      return
    }
    guard let time = TimeValue(argument) else { return nil }
    if case .seconds(let seconds) = time, seconds < Self.leastSeconds { return nil }
    self = .time(time)
  }
}

/// The value of `--start-on-sound`: a level below full scale.
struct LevelValue: ExpressibleByArgument {
  /// The level as a sample, 1 being full scale.
  let factor: Float
  let words: String

  init?(argument: String) {
    guard let gain = GainValue(argument), gain.factor > 0, gain.factor < 1 else { return nil }
    factor = gain.factor
    words = argument
  }
}

/// The value of `--stop-on-silence`: a level and a time.
struct SilenceValue: ExpressibleByArgument {
  let level: LevelValue
  let time: TimeValue

  init?(argument: String) {
    let parts = argument.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, let level = LevelValue(argument: parts[0]),
      let time = TimeValue(parts[1]), !time.isZero
    else { return nil }
    self.level = level
    self.time = time
  }
}

extension RecordingParts.Part {
  /// Description of the file for people.
  func words(at sampleRate: Double) -> String {
    "\(path): recorded \(frames) frames (\(exactClock(Double(frames) / sampleRate))), "
      + byteCount(bytes)
  }
}
