public import AudioToolbox
import AudioUnits
import CRealTime
import RealTime

/// A function that gets the sound of a sink node, in the cycle: it neither allocates nor waits. What the list points
/// to stays until the function returns.
public typealias AVAudioSinkNodeReceiverBlock = (
  UnsafePointer<AudioTimeStamp>, AVAudioFrameCount, UnsafePointer<AudioBufferList>
) -> OSStatus

/// A node that hands what an engine records to a function of the app, without a thread between. It has the format of
/// its connection. It gets nothing in manual rendering.
@safe
open class AVAudioSinkNode: AVAudioNode, @unchecked Sendable {
  private let block: SinkBlock

  /// Creates a node with a function.
  public init(receiverBlock block: @escaping AVAudioSinkNodeReceiverBlock) {
    self.block = unsafe SinkBlock(block)
    super.init(unit: Self.make { try EngineMixerUnit("AVAudioSinkNode", inputs: 1) })
  }

  /// None.
  open override var numberOfOutputs: Int { 0 }

  override func setInput(_ format: AVAudioFormat, bus: AVAudioNodeBus) {
    setOutput(format)
    super.setInput(format, bus: bus)
  }

  override func applyOutput(_ format: BusFormat) throws {
    try unsafe unsafeDowncast(unit, to: EngineMixerUnit.self).setOutputFormat(format)
  }

  /// The unit that the device renders for the node, and the function that gets its sound.
  var pulled: SidePull.Item {
    unsafe SidePull.Item(
      unit, Self.receive, Unmanaged.passUnretained(block).toOpaque(), keeping: block)
  }

  private static let receive: cue_render_proc = { data, _, time, _, frames, list in
    guard let data = unsafe data, let list = unsafe list else {
      return kAudio_ParamError
    }
    return unsafe Unmanaged<SinkBlock>.fromOpaque(data)._withUnsafeGuaranteedRef { block in
      unsafe block.run(time, frames, list)
    }
  }
}

/// The function of a sink node.
@safe
private final class SinkBlock: @unchecked Sendable {
  private let block: AVAudioSinkNodeReceiverBlock

  init(_ block: @escaping AVAudioSinkNodeReceiverBlock) { unsafe self.block = block }

  func run(
    _ time: UnsafePointer<cue_time_stamp>, _ frames: UInt32,
    _ list: UnsafeMutablePointer<cue_buffer_list>
  ) -> OSStatus {
    unsafe block(
      UnsafeRawPointer(time).assumingMemoryBound(to: AudioTimeStamp.self), frames,
      UnsafeRawPointer(list).assumingMemoryBound(to: AudioBufferList.self))
  }
}
