package import Files
import Synchronization

/// The file that a recording goes to. It is created with the first frame; until then an existing
/// file stays unchanged.
///
/// Any thread; blocks.
package final class RecordingFile: RecordingOutput {
  package let output: ClaimedPath
  /// Container, format and encoder settings of the file.
  package let plan: SoundWriter.Plan
  private let begun = Mutex<(store: any ByteStore, writer: SoundWriter)?>(nil)

  package init(_ output: ClaimedPath, _ plan: SoundWriter.Plan) {
    self.output = output
    self.plan = plan
  }

  /// The file's store; nil before the first frame, and for a pipe.
  package var store: FileStore? { begun.withLock { $0?.store as? FileStore } }
  /// Bytes written so far.
  package var byteCount: Int64 {
    get throws(SoundFileError) { try begun.withLock { $0?.store }?.byteCount() ?? 0 }
  }
  /// The file's writer; nil before the first frame. One thread at a time may use it.
  package var writer: SoundWriter? { begun.withLock { $0?.writer } }

  package func append(_ bytes: UnsafeRawBufferPointer, at hostTime: UInt64)
    throws(SoundFileError)
  {
    try unsafe beginning().write(bytes)
  }

  package func appendSilence(frames: Int64, at hostTime: UInt64) throws(SoundFileError) {
    try beginning().writeSilence(frames: frames)
  }

  /// Does nothing for a pipe, whose head has gone.
  package func checkpoint() throws(SoundFileError) {
    if let (store, writer) = begun.withLock({ $0 }), !store.isStream { try writer.checkpoint() }
  }

  /// Does nothing: it is one file.
  package func endTake() {}
  package func split() -> Bool { false }

  /// Returns the file's writer, and creates the file on the first call.
  package func beginning() throws(SoundFileError) -> SoundWriter {
    try begun.withLock { begun throws(SoundFileError) in
      if let writer = begun?.writer { return writer }
      let store = try output.makeFile()
      let writer = try SoundWriter(store, plan)
      begun = (store, writer)
      return writer
    }
  }
}
