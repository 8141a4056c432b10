/// A source of test cases and the code under test.
protocol Subject {
  /// Creates the input of a case. The supervisor keeps it if the case fails.
  func input(_ dice: inout Dice) -> Corpus.File
  /// Passes the input to the code under test, which may create files at paths that start with
  /// `scratch`.
  func run(_ input: Corpus.File, scratch: String, _ dice: inout Dice) throws
}

/// The subjects by name.
enum Kind: String, CaseIterable {
  /// Sound files and everything that reads them.
  case sounds
  /// The same with one byte changed at each of the first 4,096 places, or cut at each of 512.
  case mutations
  /// Bundles of LV2 plugins and the host that instantiates the plugins.
  case bundles
  /// Memory shared with a plugin's process, read by the host.
  case memory
  /// Graph reports received from other processes.
  case reports
  /// OSC packets for the remote control of a session.
  case packets
  /// Sessions: their files, journals and folders.
  case sessions
  /// Standard MIDI Files.
  case midi
  /// MIDI messages and universal packets.
  case messages
  /// SoundFonts and the plugin that plays them.
  case soundfonts

  /// Creates the files to damage in a folder.
  func makeCorpus(in folder: String, only: String) throws {
    switch self {
    case .sounds, .mutations: try Corpus.make(in: folder, only: only)
    case .bundles: try Bundles.make(in: folder)
    case .reports: try Reports.make(in: folder)
    case .sessions: try SessionFiles.make(in: folder)
    case .midi: try MIDIFiles.make(in: folder)
    case .soundfonts: try SoundFonts.make(in: folder)
    // The case number determines the case.
    case .memory, .messages, .packets: break
    }
  }

  /// Returns the subject for a folder filled by `makeCorpus`.
  func subject(folder: String, only: String, isVerbose: Bool) throws -> any Subject {
    switch self {
    case .sounds, .mutations:
      Sounds(
        try Corpus(folder: folder, only: only), isVerbose: isVerbose,
        isSystematic: self == .mutations)
    case .bundles: try Bundles(folder: folder)
    case .memory: SharedMemory()
    case .reports: Reports(try Corpus(folder: folder, only: only))
    case .messages: Messages()
    case .packets: Packets()
    case .sessions: SessionFiles(try Corpus(folder: folder, only: only))
    case .midi: MIDIFiles(try Corpus(folder: folder, only: only))
    case .soundfonts: SoundFonts(try Corpus(folder: folder, only: only))
    }
  }
}
