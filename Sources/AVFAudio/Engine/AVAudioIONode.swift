public import AudioToolbox
import AudioUnits
public import Foundation
import RealTime

/// The output node or the input node of an engine.
open class AVAudioIONode: AVAudioNode, @unchecked Sendable {
  /// Seconds between a frame at this node and at the sound card; 0 in manual rendering, and while the engine does not
  /// run.
  public var presentationLatency: TimeInterval {
    guard let engine, !engine.isInManualRenderingMode else { return 0 }
    let latencies = engine.live.latencies
    return self is AVAudioInputNode ? latencies.input : latencies.output
  }

  /// The unit by which the engine plays and records, for the C functions: one unit, whichever node is asked. Set
  /// `kAudioOutputUnitProperty_CurrentDevice` before `start` to choose another server. Nil in manual rendering.
  public var audioUnit: AudioUnit? {
    guard let engine, !engine.isInManualRenderingMode else { return nil }
    return unsafe engine.live.reference
  }

  /// False: there is no voice processing.
  public var isVoiceProcessingEnabled: Bool { false }

  /// Throws -10879 if `enabled` is true, since there is no voice processing.
  public func setVoiceProcessingEnabled(_ enabled: Bool) throws {
    if enabled {
      throw NSError(
        NSError.avfaudio, kAudioUnitErr_InvalidProperty,
        "AVAudioIONode.setVoiceProcessingEnabled: there is no voice processing")
    }
  }
}

/// The node behind all others of an engine. Its input may have any rate and number of channels, which it
/// converts.
open class AVAudioOutputNode: AVAudioIONode, @unchecked Sendable {
  init() { super.init(unit: Self.make { try EngineMixerUnit("AVAudioOutputNode", inputs: 1) }) }

  /// None.
  open override var numberOfOutputs: Int { 0 }

  /// Returns the format of what is heard, or of what manual rendering returns.
  open override func outputFormat(forBus bus: AVAudioNodeBus) -> AVAudioFormat {
    guard bus == 0 else { refuse("AVAudioNode.outputFormat: \(self) has no output \(bus)") }
    return engine?.renderFormat ?? .absent
  }

  override var standardFormat: AVAudioFormat { engine?.standardFormat ?? .fallback }

  override func applyOutput(_ format: BusFormat) throws {
    try unsafe unsafeDowncast(unit, to: EngineMixerUnit.self).setOutputFormat(format)
  }
}

/// A function that returns the next frames of the input in manual rendering; nil if there are none yet. The
/// list stays until the next call.
public typealias AVAudioIONodeInputBlock = (AVAudioFrameCount) -> UnsafePointer<AudioBufferList>?
