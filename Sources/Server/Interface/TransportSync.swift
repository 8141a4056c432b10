import CRealTime

/// A client's part in the start of JACK's transport: JACK asks it to get ready for a position, and rolls
/// once it has answered, after two seconds at the latest. Any thread.
@safe
package final class TransportSync: @unchecked Sendable {
  /// JACK's sync callback reads it until the client is closed, so it is never freed.
  let memory: UnsafeMutablePointer<cue_sync>

  init(_ client: OpaquePointer) {
    unsafe memory = .allocate(capacity: 1)
    unsafe memory.initialize(
      to: cue_sync(client: client, asked: 0, answered: 0, is_asking: false))
  }

  /// The latest request: its number, from 1, and the transport frame; nil if there was none.
  package var request: (number: UInt32, position: Int64)? {
    let asked = unsafe cue_sync_request(memory)
    if asked == 0 { return nil }
    return (UInt32(truncatingIfNeeded: asked >> 32), Int64(UInt32(truncatingIfNeeded: asked)))
  }

  /// Answers a request: the transport may roll with the cycle that begins at device frame `frame`, if
  /// no other client needs more time.
  package func answer(_ number: UInt32, rollingAt frame: Int64, periodFrames: Int) {
    unsafe cue_sync_answer(
      memory, number, UInt32(truncatingIfNeeded: frame - Int64(periodFrames)))
  }
}
