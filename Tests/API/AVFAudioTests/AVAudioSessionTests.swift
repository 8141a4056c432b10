import AVFAudio
import AudioUnits
import Hardware
import Synchronization
import TestSupport
import Testing

/// The session of the Swift layer on a server that is driven by hand.
@Suite struct AVAudioSessionTests {
  /// The notifications of a session, in words.
  final class Notes: Sendable {
    private let list = Mutex<[String]>([])
    var all: [String] { list.withLock { $0 } }

    func listen(to session: AVAudioSession) {
      let names = [
        AVAudioSession.interruptionNotification, AVAudioSession.routeChangeNotification,
      ]
      for name in names {
        _ = NotificationCenter.default.addObserver(forName: name, object: session, queue: nil) {
          [weak self] notification in
          let info = notification.userInfo ?? [:]
          var words: [String] = []
          if let type = info[AVAudioSessionInterruptionTypeKey] as? UInt {
            words.append("\(AVAudioSession.InterruptionType(rawValue: type).map { "\($0)" } ?? "")")
          }
          if let option = info[AVAudioSessionInterruptionOptionKey] as? UInt {
            let options = AVAudioSession.InterruptionOptions(rawValue: option)
            words.append(options.contains(.shouldResume) ? "resume" : "stay")
          }
          if let reason = info[AVAudioSessionRouteChangeReasonKey] as? UInt {
            words.append(
              "\(AVAudioSession.RouteChangeReason(rawValue: reason).map { "\($0)" } ?? "")")
          }
          let route = info[AVAudioSessionRouteChangePreviousRouteKey]
          if let route = route as? AVAudioSessionRouteDescription {
            words.append("\(route.inputs.count)/\(route.outputs.count)")
          }
          self?.list.withLock { $0.append(words.joined(separator: " ")) }
        }
      }
    }
  }

  let server = HandDrivenServer(name: "swift-session-\(UUID())")
  let device: HardwareDevice
  let session: AVAudioSession

  init() {
    let device = HardwareDevice(server, named: server.name, clientName: "session")
    self.device = device
    session = AVAudioSession(AudioSession(decides: false) { device })
  }

  private func end() throws {
    try session.setActive(false)
    device.closeIfUnused()
  }

  /// Returns the result code that a body throws.
  private func status(_ body: () throws -> Void) throws -> OSStatus {
    let error = try failure(body)
    expectTrue(
      error.domain == NSOSStatusErrorDomain
        && error.localizedDescription.hasPrefix("AVAudioSession."))
    return OSStatus(error.code)
  }

  @Test func theHardwareIsThatOfTheServer() throws {
    expectTrue(session.sampleRate == 48000 && session.ioBufferDuration == 1024.0 / 48000)
    expectTrue(session.inputNumberOfChannels == 2 && session.outputNumberOfChannels == 2)
    expectTrue(session.inputLatency == 0 && session.outputLatency == 0)
    expectTrue(
      session.isInputAvailable && session.outputVolume == 1 && !session.isOtherAudioPlaying)
    let route = session.currentRoute
    expectTrue(route.inputs.isEmpty)
    let card = try require(route.outputs.first)
    expectTrue(route.outputs.count == 1 && card.portType == .lineOut && card.portName == "system")
    expectEqual(card.uid, "jack:\(server.name)/system")
    expectEqual(card.channels?.map(\.channelName), ["system:playback_1", "system:playback_2"])
    expectEqual(card.channels?.map(\.channelNumber), [1, 2])
    try session.setCategory(.playAndRecord)
    expectEqual(session.currentRoute.inputs.map(\.portType), [.lineIn])
    try end()
  }

  @Test func aServerThatCannotBeReached() throws {
    server.failure = .unknownServer("nowhere")
    expectTrue(session.sampleRate == 0 && session.ioBufferDuration == 0)
    expectTrue(!session.isInputAvailable && session.currentRoute.outputs.isEmpty)
    try expectEqual(
      status { try session.setActive(true) }, kAudioServicesNoHardwareError)
  }

  @Test func preferencesAreReadBackAndTakeEffect() throws {
    try session.setPreferredSampleRate(44100)
    expectTrue(session.preferredSampleRate == 44100 && session.sampleRate == 48000)
    try session.setPreferredIOBufferDuration(0.01)
    expectTrue(session.preferredIOBufferDuration == 0.01 && session.ioBufferDuration == 0.01)
    let refused: [() throws -> Void] = [
      { try session.setPreferredIOBufferDuration(-1) },
      { try session.setPreferredSampleRate(.nan) },
    ]
    for body in refused { try expectEqual(status(body), kAudioSessionUnsupportedPropertyError) }
    try end()
  }

  @Test func categoriesModesAndOptions() throws {
    expectTrue(session.category == .soloAmbient && session.mode == .default)
    expectEqual(session.availableCategories.count, 6)
    try session.setCategory(.playAndRecord, mode: .voiceChat, options: [.defaultToSpeaker])
    expectTrue(session.category == .playAndRecord && session.mode == .voiceChat)
    expectTrue(session.categoryOptions == .defaultToSpeaker && session.availableModes.count == 8)
    try session.overrideOutputAudioPort(.speaker)
    try session.setCategory(.playback, options: .mixWithOthers)
    expectTrue(session.mode == .default && session.categoryOptions == .mixWithOthers)
    expectEqual(
      session.availableModes, [.default, .measurement, .moviePlayback, .spokenAudio, .voicePrompt])
    try session.setCategory(
      .playback, mode: .spokenAudio, policy: .longFormAudio,
      options: [.duckOthers, .interruptSpokenAudioAndMixWithOthers])
    expectTrue(session.mode == .spokenAudio && session.routeSharingPolicy == .longFormAudio)
    try session.setCategory(.record, options: .allowBluetooth)
    expectTrue(session.mode == .default && session.routeSharingPolicy == .default)
    try session.setCategory(
      .playAndRecord, mode: .videoChat, options: [.allowBluetoothA2DP, .allowAirPlay])
    expectTrue(session.mode == .videoChat)
    try session.setCategory(.playback)
    let refused: [() throws -> Void] = [
      { try session.setMode(.gameChat) },
      { try session.overrideOutputAudioPort(.speaker) },
      {
        try session.setCategory(.record, options: .mixWithOthers)
      },
      { try session.setCategory(.record, mode: .default, policy: .longFormAudio) },
    ]
    for body in refused { try expectEqual(status(body), kAudioSessionIncompatibleCategory) }
    let unknown: [() throws -> Void] = [
      { try session.setCategory(.init(rawValue: "none")) },
      { try session.setMode(.init(rawValue: "none")) },
    ]
    for body in unknown { try expectEqual(status(body), kAudioSessionUnsupportedPropertyError) }
    expectEqual(session.category, .playback)
    try end()
  }

  @Test func theProgramMayRecord() async {
    expectTrue(session.recordPermission == .granted)
    expectTrue(AVAudioApplication.shared.recordPermission == .granted)
    expectTrue(await AVAudioApplication.requestRecordPermission())
    let told = Told<Bool>()
    session.requestRecordPermission { told.add($0) }
    AVAudioApplication.requestRecordPermission { told.add($0) }
    expectTrue(waits { told.all == [true, true] })
  }

  /// Programs set the session up in Swift and call C for what Apple's class lacked.
  @Test func theFunctionsOfCWorkBesideIt() {
    expectTrue(AVAudioSession.sharedInstance() === AVAudioSession.sharedInstance())
    var size: UInt32 = 0
    expectEqual(
      AudioSessionGetPropertySize(kAudioSessionProperty_AudioRouteDescription, &size), noErr)
    expectEqual(size, 8)
    expectEqual(AudioSessionInitialize(nil, nil, nil, nil), kAudioSessionAlreadyInitialized)
  }

  @Test func whatHappensIsPosted() throws {
    let notes = Notes()
    notes.listen(to: session)
    try session.setActive(true)
    try session.setCategory(.playAndRecord)
    expectTrue(waits { notes.all == ["categoryChange 0/1"] })
    server.goAway()
    expectTrue(waits { notes.all.last == "began" })
    server.comeBack()
    expectTrue(waits { notes.all.last == "ended resume" })
    expectEqual(notes.all.count, 3)
    try end()
  }
}
