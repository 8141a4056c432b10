package import CRealTime
package import RealTime
import Synchronization

/// A generator that plays slices of sound at their frames. Any thread that is not real time.
@safe
package class PlayerUnit: Unit, @unchecked Sendable {
  let memory = PlayerMemory()
  private let latestStart = Mutex<PlayerStart?>(nil)

  init(_ kind: UnitKind) throws(UnitError) {
    unsafe super.init(
      kind.name, inputs: [], outputs: [try Self.standardFormat], Self.makeRender())
  }

  override package var channelCounts: (inputs: Int, outputs: Int)? { (0, -1) }

  /// Gives the unit a slice in the format of its output.
  ///
  /// - Parameters:
  ///   - samples: The app's; they stay as they are until the handler hears of the end.
  ///   - start: The first frame, counted from the start of the unit; nil for the end of the slice before.
  ///   - handler: Hears of the slice on a thread of the library, not after `dispose`.
  package func play(
    _ samples: UnsafeMutablePointer<cue_buffer_list>, frames: Int, start: Int64?,
    _ handler: @escaping @Sendable (PlayerEvent.Kind) -> Void
  ) throws(UnitError) {
    let format = try bus(.output, 0).format
    guard unsafe Int(samples.pointee.count) >= format.buffers else {
      throw .badArgument("\(name) needs \(format.buffers) buffers")
    }
    guard
      unsafe memory.play(
        samples, format, frames: frames, start: start, resets: render.pointee.resetCount, handler)
    else { throw .unsupported("\(SlicePlayer.capacity) slices of \(name) wait already") }
  }

  /// Sets the moment from which the frames of slices count.
  package func start(_ start: PlayerStart) throws(UnitError) {
    latestStart.withLock { $0 = start }
    guard unsafe memory.start(start, resets: render.pointee.resetCount) else {
      throw .unsupported("too many requests of \(name) wait")
    }
  }

  /// The start that was set last; nil if none was.
  package var startTime: PlayerStart? { latestStart.withLock { $0 } }

  /// Frames rendered since the start; nil before it.
  package var playedFrames: Double? {
    let frames = unsafe memory.player.pointee.playedFrames
    return frames.isNaN ? nil : frames
  }

  override func kernel(inputs: Int) -> Kernel {
    unsafe Kernel(
      call: cue_unit_kernel(
        run: { unsafe runSlices($0, $1) }, context: UnsafeMutableRawPointer(memory.player)),
      owner: memory)
  }

  override package func dispose() {
    memory.end()
    super.dispose()
  }
}
