import AudioUnits
import Foundation
import RealTime
import Synchronization

/// A node that adds its inputs. Each may have a rate and a number of channels of its own, which the mixer converts to those of its
/// output. It gets more inputs when they are connected.
@safe
open class AVAudioMixerNode: AVAudioNode, AVAudioMixing, MixedNode, MixingNode,
  @unchecked Sendable
{
  let mixing = MixingSettings()
  private let volumeSetting = Mutex<Float>(1)
  var mixer: EngineMixerUnit { unsafe unsafeDowncast(unit, to: EngineMixerUnit.self) }

  /// Creates a mixer with one input.
  public init() {
    super.init(unit: Self.make { try EngineMixerUnit("AVAudioMixerNode", inputs: 1) })
  }

  /// The volume of the output, 0 to 1. Changes take one render.
  public var outputVolume: Float {
    get { volumeSetting.withLock { $0 } }
    set {
      let volume = newValue.isNaN ? 0 : min(max(newValue, 0), 1)
      volumeSetting.withLock { $0 = volume }
      unsafe mixer.outputLevel.pointee.set(volume: volume)
    }
  }

  /// The first input that is connected to nothing.
  public var nextAvailableInputBus: AVAudioNodeBus { firstFreeInput }

  func level(_ values: MixingSettings.Values, channels: AVAudioChannelCount)
    -> (volume: Float, pan: Float)
  { (values.volume, values.pan) }

  /// Returns the format of the output. For the main mixer, that of the sound card: 0 Hz and no channels without a
  /// server.
  open override func outputFormat(forBus bus: AVAudioNodeBus) -> AVAudioFormat {
    let format = super.outputFormat(forBus: bus)
    return engine?.lacksCard(self) == true ? .absent : format
  }

  override var standardFormat: AVAudioFormat { engine?.standardFormat ?? .fallback }

  override func applyOutput(_ format: BusFormat) throws { try mixer.setOutputFormat(format) }
}
