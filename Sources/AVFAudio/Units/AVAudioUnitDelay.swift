import AudioToolbox
import AudioUnits
public import Foundation

/// An echo of up to two seconds.
open class AVAudioUnitDelay: AVAudioUnitEffect, @unchecked Sendable {
  /// Creates an echo after a second.
  public init() {
    super.init(MadeUnit(.delay, for: "AVAudioUnitDelay"))
    wetDryMix = 100
  }

  /// Seconds to the echo, 0 to 2. 1 at first.
  open var delayTime: TimeInterval {
    get { TimeInterval(parameter(kDelayParam_DelayTime)) }
    set { set(kDelayParam_DelayTime, to: Float(newValue)) }
  }

  /// The part of an echo that is repeated in percent, -100 to 100. 50 at first.
  open var feedback: Float {
    get { parameter(kDelayParam_Feedback) }
    set { set(kDelayParam_Feedback, to: newValue) }
  }

  /// The frequency in Hz above which echoes are weaker, 10 to half the sample rate. 15,000 at first.
  open var lowPassCutoff: Float {
    get { parameter(kDelayParam_LopassCutoff) }
    set { set(kDelayParam_LopassCutoff, to: newValue) }
  }

  /// The part of the echoes in percent, 0 to 100, as at first.
  open var wetDryMix: Float {
    get { parameter(kDelayParam_WetDryMix) }
    set { set(kDelayParam_WetDryMix, to: newValue) }
  }
}
