import AudioToolbox
package import AudioUnits
public import Foundation
import Hardware
import Server
import Synchronization

/// The audio session: what the program wants of the sound card, what it gets, and what happens to it.
///
/// It is the session of `AudioSession.h` in the form that Apple's class has. The sound card is that of the
/// default JACK server. A program that sets neither a category nor the session active is not restricted
/// in any way.
///
/// ```swift
/// let session = AVAudioSession.sharedInstance()
/// try session.setCategory(.playAndRecord)
/// try session.setPreferredIOBufferDuration(0.005)
/// try session.setActive(true)
/// print(session.sampleRate, session.ioBufferDuration)
/// ```
///
/// Interruptions and route changes are notifications of `NotificationCenter.default`, posted on a thread of
/// the library. The methods may be called on any thread that is not real-time.
open class AVAudioSession: NSObject, @unchecked Sendable {
  let core: AudioSession
  private let policy = Mutex(RouteSharingPolicy.default)
  private static let shared: AVAudioSession = {
    AudioSession.initializeForSwift()
    return AVAudioSession(.shared)
  }()

  /// Returns the session of this process. The functions of `AudioSession.h` can be called afterwards
  /// without AudioSessionInitialize; their listeners run on the main thread's run loop.
  public class func sharedInstance() -> AVAudioSession { shared }

  package init(_ core: AudioSession) {
    self.core = core
    super.init()
    core.addObserver { [weak self] in self?.post($0) }
  }

  /// Runs a part of a method, and throws what a program gets if the session refuses it.
  private func call<R>(
    _ method: String, _ body: () throws(AudioSessionRefusal) -> R
  ) throws -> R {
    do throws(AudioSessionRefusal) { return try body() } catch {
      throw NSError(
        NSOSStatusErrorDomain, error.status, "AVAudioSession.\(method): \(error.reason)")
    }
  }

  // MARK: Category and mode

  /// The category. It decides what may start; the first one is `soloAmbient`.
  public var category: Category { Category(core.category) }
  /// The mode.
  public var mode: Mode { Mode(core.mode) }
  /// The options of the category.
  public var categoryOptions: CategoryOptions { CategoryOptions(rawValue: core.options.rawValue) }
  /// All categories.
  public var availableCategories: [Category] { AudioSessionCategory.allCases.map { Category($0) } }
  /// The modes that the category allows.
  public var availableModes: [Mode] {
    let category = core.category
    return AudioSessionMode.allCases.filter { $0.fits(category) }.map { Mode($0) }
  }

  /// The policy that was set with the category.
  public var routeSharingPolicy: RouteSharingPolicy { policy.withLock { $0 } }

  /// Sets the category. A new one resets the options, and a mode that it does not allow.
  ///
  /// - Throws: kAudioSessionUnsupportedPropertyError for a category that does not exist.
  public func setCategory(_ category: Category) throws {
    try call("setCategory") { () throws(AudioSessionRefusal) in
      let category = try category.value
      core.use()
      core.setCategory(category)
    }
    policy.withLock { $0 = .default }
  }

  /// Sets the category and its options.
  ///
  /// - Throws: kAudioSessionIncompatibleCategory for an option that the category does not take.
  public func setCategory(_ category: Category, options: CategoryOptions) throws {
    let mode = core.mode
    let fits = (try? category.value).map { mode.fits($0) } ?? true
    try setCategory(category, mode: fits ? Mode(mode) : .default, options: options)
  }

  /// Sets the category, its mode and its options.
  ///
  /// - Throws: kAudioSessionIncompatibleCategory for a mode or an option that the category does not
  ///   take.
  public func setCategory(_ category: Category, mode: Mode, options: CategoryOptions = []) throws {
    try setCategory(category, mode: mode, policy: .default, options: options)
  }

  /// Sets the category, its mode, its policy and its options.
  ///
  /// - Throws: kAudioSessionIncompatibleCategory for a mode, a policy or an option that the category does not
  ///   take.
  public func setCategory(
    _ category: Category, mode: Mode, policy: RouteSharingPolicy, options: CategoryOptions = []
  ) throws {
    try call("setCategory") { () throws(AudioSessionRefusal) in
      let (value, mode) = (try category.value, try mode.value)
      guard policy == .default || (policy != .independent && category == .playback) else {
        throw .incompatibleCategory("the category \(value) does not take the policy \(policy)")
      }
      core.use()
      try core.setCategory(value, mode, AudioSessionOptions(rawValue: options.rawValue))
    }
    self.policy.withLock { $0 = policy }
  }

  /// Sets the mode.
  ///
  /// - Throws: kAudioSessionIncompatibleCategory if the category does not allow it.
  public func setMode(_ mode: Mode) throws {
    try call("setMode") { () throws(AudioSessionRefusal) in
      let mode = try mode.value
      core.use()
      try core.setMode(mode)
    }
  }

  /// Routes the output to the speaker, or not. The sound card's ports are the speaker: sound does not
  /// move.
  ///
  /// - Throws: kAudioSessionIncompatibleCategory for the speaker in a category other than
  ///   `playAndRecord`.
  public func overrideOutputAudioPort(_ port: PortOverride) throws {
    try call("overrideOutputAudioPort") { () throws(AudioSessionRefusal) in
      try core.overrideOutput(toSpeaker: port == .speaker)
    }
  }

  // MARK: Permission

  /// The permission to record. A program that reaches the JACK server may record: nobody is asked.
  public var recordPermission: RecordPermission { .granted }

  /// Calls the function with true, on a queue of the system.
  public func requestRecordPermission(_ response: @escaping @Sendable (Bool) -> Void) {
    AVAudioApplication.requestRecordPermission(completionHandler: response)
  }

  // MARK: Activity

  /// Makes the session active, or not. An active session hears of interruptions; a queue or an output
  /// unit that starts makes it active, too. Queues and units that run keep running when the session
  /// becomes inactive.
  ///
  /// - Parameters:
  ///   - active: True to make it active.
  ///   - options: They change nothing here.
  /// - Throws: kAudioServicesNoHardwareError if the server cannot be reached or has gone.
  public func setActive(_ active: Bool, options: SetActiveOptions = []) throws {
    if !active { return core.deactivate() }
    try call("setActive") { () throws(AudioSessionRefusal) in try core.activate() }
  }

  // MARK: Preferences

  /// Wanted sample rate in Hz; 0 for any.
  public var preferredSampleRate: Double { core.preferredSampleRate }
  /// Wanted length of a call of an output unit, in seconds; 0 for the server's period.
  public var preferredIOBufferDuration: TimeInterval { core.preferredBufferDuration }

  /// Sets the wanted sample rate in Hz. JACK has one rate for all programs: `sampleRate` stays.
  ///
  /// - Throws: kAudioSessionUnsupportedPropertyError for a rate below 0 or one that is not finite.
  public func setPreferredSampleRate(_ sampleRate: Double) throws {
    try call("setPreferredSampleRate") { () throws(AudioSessionRefusal) in
      try core.setPreferredSampleRate(sampleRate)
    }
  }

  /// Sets the wanted length in seconds of a call of the program's output units. It takes effect at once,
  /// within 16 to 4,096 frames, as kAudioDevicePropertyBufferFrameSize does.
  ///
  /// - Throws: kAudioSessionUnsupportedPropertyError for a duration below 0 or one that is not finite.
  public func setPreferredIOBufferDuration(_ duration: TimeInterval) throws {
    try call("setPreferredIOBufferDuration") { () throws(AudioSessionRefusal) in
      try core.setPreferredBufferDuration(duration)
    }
  }

  // MARK: The hardware

  /// The server's sample rate in Hz; 0 if it cannot be reached, like the other values of the hardware.
  public var sampleRate: Double { (try? core.sampleRate) ?? 0 }
  /// Length in seconds of a call of the program's output units.
  public var ioBufferDuration: TimeInterval { (try? core.bufferDuration) ?? 0 }
  /// Input latency in seconds.
  public var inputLatency: TimeInterval { (try? core.inputLatency) ?? 0 }
  /// Output latency in seconds.
  public var outputLatency: TimeInterval { (try? core.outputLatency) ?? 0 }
  /// Number of the sound card's inputs.
  public var inputNumberOfChannels: Int { (try? core.inputChannels) ?? 0 }
  /// Number of the sound card's outputs; 2, connected to nothing, if it has none.
  public var outputNumberOfChannels: Int { (try? core.outputChannels) ?? 0 }
  /// True if the sound card has an input, whatever the category.
  public var isInputAvailable: Bool { inputNumberOfChannels > 0 }
  /// Volume of the program's output from 0 to 1: that of the device in `AudioHardware.h`.
  public var outputVolume: Float { core.volume }
  /// True if a port of another program is connected to an output of the sound card.
  public var isOtherAudioPlaying: Bool { (try? core.othersPlay) ?? false }

  /// Ports of the sound card to which ports of the program are connected. A direction in which the
  /// program has no ports has all of the card's ports, one that the category does not allow has none.
  public var currentRoute: AVAudioSessionRouteDescription {
    AVAudioSessionRouteDescription((try? core.route) ?? CardRoute(), on: core.device.serverName)
  }

  // MARK: Notifications

  /// Posted when the JACK server has gone, and when it is back. Playing queues and output units go on
  /// by themselves.
  public static let interruptionNotification = NSNotification.Name(
    "AVAudioSessionInterruptionNotification")
  /// Posted after a program has connected or disconnected a port of this program and one of the sound
  /// card, and after a new category.
  public static let routeChangeNotification = NSNotification.Name(
    "AVAudioSessionRouteChangeNotification")

  private func post(_ event: AudioSessionEvent) {
    switch event {
    case .interruptionBegan:
      post(
        Self.interruptionNotification,
        [AVAudioSessionInterruptionTypeKey: InterruptionType.began.rawValue])
    case .interruptionEnded:
      post(
        Self.interruptionNotification,
        [
          AVAudioSessionInterruptionTypeKey: InterruptionType.ended.rawValue,
          AVAudioSessionInterruptionOptionKey: InterruptionOptions.shouldResume.rawValue,
        ])
    case .routeChanged(let reason, let old, _):
      post(
        Self.routeChangeNotification,
        [
          AVAudioSessionRouteChangeReasonKey: UInt(reason.code),
          AVAudioSessionRouteChangePreviousRouteKey: AVAudioSessionRouteDescription(
            old, on: core.device.serverName),
        ])
    case .inputsChanged, .outputsChanged, .volumeChanged: break
    }
  }

  private func post(_ name: NSNotification.Name, _ info: [String: Any]) {
    NotificationCenter.default.post(name: name, object: self, userInfo: info)
  }
}

/// `UInt`: the raw value of an `AVAudioSession.InterruptionType`.
public let AVAudioSessionInterruptionTypeKey = "AVAudioSessionInterruptionTypeKey"
/// `UInt`: the raw value of `AVAudioSession.InterruptionOptions`, at the end of an interruption.
public let AVAudioSessionInterruptionOptionKey = "AVAudioSessionInterruptionOptionKey"
/// `UInt`: the raw value of an `AVAudioSession.RouteChangeReason`.
public let AVAudioSessionRouteChangeReasonKey = "AVAudioSessionRouteChangeReasonKey"
/// `AVAudioSessionRouteDescription`: the route before.
public let AVAudioSessionRouteChangePreviousRouteKey = "AVAudioSessionRouteChangePreviousRouteKey"
