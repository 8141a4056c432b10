import AudioToolbox
import AudioUnits
import CRealTime
import Foundation
import RealTime
import Synchronization

/// The node that gives what an engine records; in manual rendering, what a function of the app gives.
open class AVAudioInputNode: AVAudioIONode, AVAudioMixing, MixedNode, @unchecked Sendable {
  let mixing = MixingSettings()
  private let blocks = Mutex<[InputBlock]>([])

  init() { super.init(unit: Self.make { try EngineMixerUnit("AVAudioInputNode", inputs: 1) }) }

  /// None.
  open override var numberOfInputs: Int { 0 }

  /// Returns the format of what comes in.
  open override func inputFormat(forBus bus: AVAudioNodeBus) -> AVAudioFormat {
    guard bus == 0 else { refuse("AVAudioNode.inputFormat: \(self) has no input \(bus)") }
    guard let engine, engine.isInManualRenderingMode else {
      return engine?.live.inputFormat ?? .absent
    }
    return blocks.withLock { $0.last?.format } ?? .absent
  }

  override func applyOutput(_ format: BusFormat) throws {
    try unsafe unsafeDowncast(unit, to: EngineMixerUnit.self).setOutputFormat(format)
  }

  /// Sets what the node gives in manual rendering. The node converts it to the format of its connection.
  ///
  /// Renders call the block. It neither allocates nor waits if the engine renders in real time.
  ///
  /// - Returns: False if the engine is not in manual rendering or runs, or the format is not linear PCM.
  @discardableResult
  public func setManualRenderingInputPCMFormat(
    _ format: AVAudioFormat, inputBlock block: @escaping AVAudioIONodeInputBlock
  ) -> Bool {
    guard let engine, engine.isInManualRenderingMode, !engine.isRunning, format.bus != nil else {
      return false
    }
    let input = unsafe InputBlock(format, engine.manual, block)
    setInput(format, bus: 0)
    let context = unsafe Unmanaged.passUnretained(input).toOpaque()
    // The one before may be in a render that another thread has not ended.
    blocks.withLock { $0 = [$0.last, input].compactMap(\.self) }
    try? unsafe unit.setCallback(Self.callback, context, 0)
    return true
  }

  private static let callback: cue_render_proc = { data, _, _, _, frames, list in
    guard let data = unsafe data, let list = unsafe list else { return kAudio_ParamError }
    return unsafe Unmanaged<InputBlock>.fromOpaque(data)._withUnsafeGuaranteedRef { input in
      unsafe input.run(frames, list)
    }
  }
}

/// The function of an input node in manual rendering.
@safe
private final class InputBlock: @unchecked Sendable {
  let format: AVAudioFormat
  private let renderer: ManualRenderer
  private let block: AVAudioIONodeInputBlock

  init(
    _ format: AVAudioFormat, _ renderer: ManualRenderer, _ block: @escaping AVAudioIONodeInputBlock
  ) {
    self.format = format
    self.renderer = renderer
    unsafe self.block = block
  }

  func run(_ frames: UInt32, _ list: UnsafeMutablePointer<cue_buffer_list>) -> OSStatus {
    guard let given = unsafe block(frames) else {
      renderer.lackInput()
      return kAudio_ParamError
    }
    let source = unsafe UnsafeMutableRawPointer(mutating: given)
      .assumingMemoryBound(to: cue_buffer_list.self)
    let (from, to) = unsafe (cue_rt_buffers(source), cue_rt_buffers(list))
    for i in unsafe 0..<Int(min(source.pointee.count, list.pointee.count)) {
      if unsafe from[i].bytes < to[i].bytes { renderer.lackInput() }
      unsafe to[i].data = from[i].data
      unsafe to[i].bytes = min(from[i].bytes, to[i].bytes)
    }
    return 0
  }
}
