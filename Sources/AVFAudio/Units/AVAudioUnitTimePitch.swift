import AudioToolbox
import AudioUnits
import Foundation
import Synchronization

/// Changes speed and pitch of sound independently, by Rubber Band. A library built without that ends the program
/// when one is created.
open class AVAudioUnitTimePitch: AVAudioUnitTimeEffect, @unchecked Sendable {
  private let overlaps = Mutex<Float>(8)

  /// Creates a time effect that changes nothing yet.
  public init() { super.init(MadeUnit(.newTimePitch, for: "AVAudioUnitTimePitch")) }

  /// Creates a time effect of a component.
  public override init(audioComponentDescription: AudioComponentDescription) {
    super.init(audioComponentDescription: audioComponentDescription)
  }

  /// The speed, 1/32 to 32. 1 at first. Sounds become at most 8 times shorter, counted without the change of pitch.
  open var rate: Float {
    get { parameter(kTimePitchParam_Rate) }
    set { set(kTimePitchParam_Rate, to: newValue) }
  }

  /// The change of pitch in cents, -2,400 to 2,400. 0 at first.
  open var pitch: Float {
    get { parameter(kTimePitchParam_Pitch) }
    set { set(kTimePitchParam_Pitch, to: newValue) }
  }

  /// How much the pieces of sound overlap that are put together, 3 to 32. 8 at first. Below 8, a kind of computation takes
  /// place that needs less time and sounds less well; a change between the two begins the sound anew.
  open var overlap: Float {
    get { overlaps.withLock { $0 } }
    set {
      if newValue.isNaN { return }
      let value = min(max(newValue, 3), 32)
      let wasFine = overlaps.withLock { overlap in
        defer { overlap = value }
        return overlap >= 8
      }
      if wasFine != (value >= 8) { try? core.setQuality(value >= 8 ? 0x60 : 0x20) }
    }
  }
}

/// Changes speed and pitch of sound together, as on a tape.
open class AVAudioUnitVarispeed: AVAudioUnitTimeEffect, @unchecked Sendable {
  /// Creates a time effect that changes nothing yet.
  public init() { super.init(MadeUnit(.varispeed, for: "AVAudioUnitVarispeed")) }

  /// Creates a time effect of a component.
  public override init(audioComponentDescription: AudioComponentDescription) {
    super.init(audioComponentDescription: audioComponentDescription)
  }

  /// The speed, 0.25 to 4. 1 at first.
  open var rate: Float {
    get { parameter(kVarispeedParam_PlaybackRate) }
    set { set(kVarispeedParam_PlaybackRate, to: newValue) }
  }
}
