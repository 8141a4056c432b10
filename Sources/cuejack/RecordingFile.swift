import Files
import Synchronization

/// The file that a recording goes to. It is begun with the first frame: an old file in its place stays as it
/// is until then.
///
/// Any thread; blocks.
final class RecordingFile: Sendable {
  let place: ClaimedPlace
  /// What the file is going to be.
  let plan: SoundWriter.Plan
  private let begun = Mutex<(store: FileStore, writer: SoundWriter)?>(nil)

  init(_ place: ClaimedPlace, _ plan: SoundWriter.Plan) {
    self.place = place
    self.plan = plan
  }

  /// Nil before the first frame.
  var store: FileStore? { begun.withLock { $0?.store } }
  /// Nil before the first frame. For one thread at a time.
  var writer: SoundWriter? { begun.withLock { $0?.writer } }

  /// What writes the file, which is begun if it has not been.
  func beginning() throws(SoundFileError) -> SoundWriter {
    try begun.withLock { begun throws(SoundFileError) in
      if let writer = begun?.writer { return writer }
      let store = try place.makeFile()
      let writer = try SoundWriter(store, plan)
      begun = (store, writer)
      return writer
    }
  }
}
