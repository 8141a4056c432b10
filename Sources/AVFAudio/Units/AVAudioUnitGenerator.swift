public import AudioToolbox
import AudioUnits
import Foundation
import RealTime
import Synchronization

/// A node that makes sound.
open class AVAudioUnitGenerator: AVAudioUnit, AVAudioMixing, MixedNode, @unchecked Sendable {
  let mixing = MixingSettings()
  private let isBypassed = Mutex(false)

  override init(_ made: MadeUnit) { super.init(made) }

  /// Creates a generator. Ends the program if there is no such component, or it is none:
  /// `AVAudioUnit.instantiate` throws instead.
  public init(audioComponentDescription: AudioComponentDescription) {
    super.init(
      MadeUnit(
        audioComponentDescription, for: "AVAudioUnitGenerator", types: [kAudioUnitType_Generator]))
  }

  /// True if the node is silent. The change takes one render.
  open var bypass: Bool {
    get { isBypassed.withLock { $0 } }
    set {
      isBypassed.withLock { $0 = newValue }
      unsafe exit.level(ofInput: 0).pointee.fade(out: newValue)
    }
  }
}
