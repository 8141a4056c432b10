package import CRealTime
package import RealTime

/// Sound that a `BufferPlayerUnit` plays: samples of the app, or a part of a file.
package struct ScheduledSound: Sendable {
  /// The source of the samples.
  @safe
  package enum Source: @unchecked Sendable {
    /// Samples of the app, and the object that keeps them.
    case samples(UnsafeMutablePointer<cue_buffer_list>, BusFormat, frames: Int, AnyObject)
    /// A part of a file that is opened for the format of the player. The first frame and the number of frames count at
    /// the file's rate; nil for all up to the end.
    case file(
      firstFrame: Int64, frames: Int64?,
      open: @Sendable (BusFormat) throws(UnitError) -> any PlayerFile)
  }
  package var source: Source
  package var start = BufferStart.next
  package var loops = false
  package var turn = BufferTurn.queued
  /// True if the handler is to be called when the last frame is heard, not when it is rendered.
  package var isHeard = false
  /// Called once when the sound is over, or was ended, on the thread of the unit.
  package var handler: (@Sendable () -> Void)?

  package init(_ source: Source) { self.source = source }
}
