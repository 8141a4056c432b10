public import AudioToolbox
import AudioUnits
import Synchronization

/// A node that takes sound at another speed than it gives it, or that converts it.
open class AVAudioUnitTimeEffect: AVAudioUnit, @unchecked Sendable {
  private let isBypassed = Mutex(false)

  override init(_ made: MadeUnit) { super.init(made) }

  /// Creates a time effect. Ends the program if there is no such component, or it is none:
  /// `AVAudioUnit.instantiate` throws instead.
  public init(audioComponentDescription: AudioComponentDescription) {
    super.init(
      MadeUnit(
        audioComponentDescription, for: "AVAudioUnitTimeEffect",
        types: [kAudioUnitType_FormatConverter]))
  }

  override var isEffect: Bool { true }

  /// The speed, or the largest one that a tape may have.
  var speed: Double {
    switch self {
    case let effect as AVAudioUnitTimePitch: max(1, Double(effect.rate))
    default: 4
    }
  }

  /// True if the sound keeps its speed and its pitch. It goes through the same converter, so that the latency stays.
  open var bypass: Bool {
    get { core.isBypassed ?? isBypassed.withLock { $0 } }
    set {
      isBypassed.withLock { $0 = newValue }
      core.setBypassed(newValue)
    }
  }
}
