public import AudioToolbox
import AudioUnits
import CRealTime
public import Foundation
import RealTime

/// A function that makes the sound of a source node, in the cycle: it neither allocates nor waits.
///
/// Set the first argument to true if all is silence. The buffers of the list have memory; the function may put others in its place,
/// which stay until the next call.
public typealias AVAudioSourceNodeRenderBlock = (
  UnsafeMutablePointer<ObjCBool>, UnsafePointer<AudioTimeStamp>, AVAudioFrameCount,
  UnsafeMutablePointer<AudioBufferList>
) -> OSStatus

/// A node whose sound a function of the app makes.
@safe
open class AVAudioSourceNode: AVAudioNode, AVAudioMixing, MixedNode, @unchecked Sendable {
  let mixing = MixingSettings()
  private let block: SourceBlock
  /// The format of the function's sound; nil for that of the output.
  private let format: AVAudioFormat?

  /// Creates a node whose function makes sound in the format of the output.
  public convenience init(renderBlock block: @escaping AVAudioSourceNodeRenderBlock) {
    unsafe self.init(format: nil, block)
  }

  /// Creates a node whose function makes sound in a format of its own, which the node converts. Ends the program if
  /// that is not linear PCM.
  public convenience init(
    format: AVAudioFormat, renderBlock block: @escaping AVAudioSourceNodeRenderBlock
  ) {
    unsafe self.init(format: .some(format), block)
  }

  private init(format: AVAudioFormat?, _ block: @escaping AVAudioSourceNodeRenderBlock) {
    self.format = format
    self.block = unsafe SourceBlock(block)
    super.init(unit: Self.make { try EngineMixerUnit("AVAudioSourceNode", inputs: 1) })
    let first = format ?? .fallback
    setOutput(
      format.flatMap { AVAudioFormat(rate: $0.sampleRate, channels: Int($0.channelCount)) }
        ?? .fallback)
    setInput(first, bus: 0)
    let context = unsafe Unmanaged.passUnretained(self.block).toOpaque()
    try? unsafe unit.setCallback(Self.callback, context, 0)
  }

  private static let callback: cue_render_proc = { data, flags, time, _, frames, list in
    guard let data = unsafe data, let list = unsafe list else { return kAudio_ParamError }
    return unsafe Unmanaged<SourceBlock>.fromOpaque(data)._withUnsafeGuaranteedRef { block in
      unsafe block.run(flags, time, frames, list)
    }
  }

  /// None.
  open override var numberOfInputs: Int { 0 }

  override func setOutput(_ format: AVAudioFormat) {
    super.setOutput(format)
    if self.format == nil { setInput(format, bus: 0) }
  }

  override func applyOutput(_ format: BusFormat) throws {
    try unsafe unsafeDowncast(unit, to: EngineMixerUnit.self).setOutputFormat(format)
  }
}

/// The function of a source node.
@safe
private final class SourceBlock: @unchecked Sendable {
  private let block: AVAudioSourceNodeRenderBlock

  init(_ block: @escaping AVAudioSourceNodeRenderBlock) { unsafe self.block = block }

  func run(
    _ flags: UnsafeMutablePointer<UInt32>, _ time: UnsafePointer<cue_time_stamp>, _ frames: UInt32,
    _ list: UnsafeMutablePointer<cue_buffer_list>
  ) -> OSStatus {
    var isSilent = ObjCBool(false)
    let status = unsafe block(
      &isSilent, UnsafeRawPointer(time).assumingMemoryBound(to: AudioTimeStamp.self), frames,
      UnsafeMutableRawPointer(list).assumingMemoryBound(to: AudioBufferList.self))
    if isSilent.boolValue { unsafe flags.pointee |= UInt32(cue_render_is_silent) }
    return status
  }
}
