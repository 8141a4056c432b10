/// What cases are made of, and the code that they are handed to.
protocol Subject {
  /// A case's input, which is kept if something dies of it.
  func input(_ dice: inout Dice) -> Corpus.File
  /// Hands the input to the code under test. Files may be made at paths that begin with `scratch`.
  func run(_ input: Corpus.File, scratch: String, _ dice: inout Dice) throws
}

/// The subjects by name.
enum Kind: String, CaseIterable {
  /// Sound files, and everything that reads them.
  case sounds
  /// Bundles of LV2 plugins, and the host that reads them and makes their plugins.
  case bundles
  /// The memory that a plugin's process shares with its host, as the host reads it.
  case memory
  /// Reports of graphs, as they come from other processes.
  case reports

  /// Makes what is damaged in a folder.
  func makeCorpus(in folder: String, only: String) throws {
    switch self {
    case .sounds: try Corpus.make(in: folder, only: only)
    case .bundles: try Bundles.make(in: folder)
    case .reports: try Reports.make(in: folder)
    // Its cases are rows of numbers.
    case .memory: break
    }
  }

  /// The subject, with what `makeCorpus` made in a folder.
  func subject(folder: String, only: String, isVerbose: Bool) throws -> any Subject {
    switch self {
    case .sounds: Sounds(try Corpus(folder: folder, only: only), isVerbose: isVerbose)
    case .bundles: try Bundles(folder: folder)
    case .memory: SharedMemory()
    case .reports: Reports(try Corpus(folder: folder, only: only))
    }
  }
}
