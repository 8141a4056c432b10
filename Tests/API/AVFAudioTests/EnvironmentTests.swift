import AVFoundation
import TestSupport
import Testing

/// AVAudioEnvironmentNode in manual rendering.
@Suite struct EnvironmentTests {
  /// An environment before the output, and a mono player of ones in it.
  private func stage(channels: AVAudioChannelCount = 1) throws -> (
    OfflineEngine, AVAudioEnvironmentNode, AVAudioPlayerNode
  ) {
    let offline = try OfflineEngine(maximum: 64)
    let (engine, environment) = (offline.engine, AVAudioEnvironmentNode())
    let player = AVAudioPlayerNode()
    engine.attach(environment)
    engine.attach(player)
    engine.connect(environment, to: engine.mainMixerNode, format: .standard())
    engine.connect(player, to: environment, format: .standard(48000, channels))
    let ones = Array(repeating: Float(1), count: 64)
    player.scheduleBuffer(
      AVAudioPCMBuffer(Array(repeating: ones, count: Int(channels))), at: nil, options: .loops)
    player.play()
    return (offline, environment, player)
  }

  /// The gains of both sides, once a change is over.
  private func gains(_ offline: OfflineEngine) throws -> (left: Float, right: Float) {
    let heard = try offline.render(192)
    expectEqual(heard[0][128], heard[0][191])
    return (heard[0][191], heard[1][191])
  }

  private func expectGains(
    _ offline: OfflineEngine, _ left: Float, _ right: Float,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let found = try gains(offline)
    expectTrue(
      abs(found.left - left) < 1e-5 && abs(found.right - right) < 1e-5, "\(found)",
      sourceLocation: sourceLocation)
  }

  @Test func soundsHaveTheirDirection() throws {
    let (offline, environment, player) = try stage()
    let half = Float(0.5).squareRoot()
    try expectGains(offline, half, half)
    player.position = AVAudio3DPoint(x: 1, y: 0, z: 0)
    try expectGains(offline, 0, 1)
    player.position = AVAudioMake3DPoint(-1, 0, 0)
    try expectGains(offline, 1, 0)
    // The listener turns to the left: the sound is ahead.
    environment.listenerAngularOrientation = AVAudio3DAngularOrientation(
      yaw: -90, pitch: 0, roll: 0)
    try expectGains(offline, half, half)
    // On the head, with the left ear up.
    environment.listenerAngularOrientation = AVAudio3DAngularOrientation(yaw: 0, pitch: 0, roll: 90)
    player.position = AVAudioMake3DPoint(0, 1, 0)
    try expectGains(offline, 1, 0)
    environment.listenerVectorOrientation = AVAudio3DVectorOrientation(
      forward: AVAudioMake3DVector(0, 0, 1), up: AVAudioMake3DVector(0, 1, 0))
    player.position = AVAudioMake3DPoint(0.5, 0, 0)
    try expectGains(offline, 1, 0)
    let angle = environment.listenerAngularOrientation
    expectTrue(
      abs(abs(angle.yaw) - 180) < 1e-3 && abs(angle.pitch) < 1e-3 && abs(angle.roll) < 1e-3)
    for wanted in [(30, 20, -40), (-120, -70, 10)] as [(Float, Float, Float)] {
      environment.listenerAngularOrientation = AVAudio3DAngularOrientation(
        yaw: wanted.0, pitch: wanted.1, roll: wanted.2)
      let found = environment.listenerAngularOrientation
      expectTrue(
        abs(found.yaw - wanted.0) < 1e-3 && abs(found.pitch - wanted.1) < 1e-3
          && abs(found.roll - wanted.2) < 1e-3, "\(found)")
    }
  }

  @Test func soundsGetSofterWithTheirDistance() throws {
    let (offline, environment, player) = try stage()
    let distance = environment.distanceAttenuationParameters
    expectTrue(distance.distanceAttenuationModel == .inverse && distance.referenceDistance == 1)
    expectTrue(distance.maximumDistance == 100_000 && distance.rolloffFactor == 1)
    player.position = AVAudio3DPoint(x: 4, y: 0, z: 0)
    try expectGains(offline, 0, 0.25)
    distance.rolloffFactor = 2
    try expectGains(offline, 0, 1.0 / 7)
    distance.distanceAttenuationModel = .exponential
    try expectGains(offline, 0, 1.0 / 16)
    distance.distanceAttenuationModel = .linear
    distance.maximumDistance = 13
    try expectGains(offline, 0, 0.5)
    distance.maximumDistance = 2
    try expectGains(offline, 0, 0)
    distance.referenceDistance = 5
    try expectGains(offline, 0, 1)
    environment.listenerPosition = AVAudio3DPoint(x: 8, y: 0, z: 0)
    try expectGains(offline, 1, 0)
    player.obstruction = -20
    try expectGains(offline, 0.1, 0)
    player.occlusion = -20
    environment.outputVolume = 0.5
    try expectGains(offline, 0.005, 0)
  }

  /// Sounds of two channels, and one that is to pass.
  @Test func otherSoundsPass() throws {
    let (offline, environment, player) = try stage(channels: 2)
    player.position = AVAudio3DPoint(x: 8, y: 0, z: 0)
    player.volume = 0.5
    try expectGains(offline, 0.5, 0.5)
    let (other, _, mono) = try stage()
    mono.position = AVAudio3DPoint(x: 8, y: 0, z: 0)
    mono.renderingAlgorithm = .stereoPassThrough
    try expectGains(other, 1, 1)
    expectEqual(environment.applicableRenderingAlgorithms, [0, 5])
    expectEqual(environment.nextAvailableInputBus, 1)
    expectEqual(environment.destinationTests(player), true)
    environment.volume = 0.5
    environment.pan = 1
    try expectGains(offline, 0, 0.25)
  }

  @Test func hostilePlacesAreHeld() throws {
    let (offline, environment, player) = try stage()
    player.position = AVAudio3DPoint(x: .nan, y: .infinity, z: -.infinity)
    expectEqual(player.position, AVAudio3DPoint())
    player.obstruction = .nan
    player.occlusion = 12
    environment.distanceAttenuationParameters.referenceDistance = .nan
    environment.distanceAttenuationParameters.maximumDistance = -1
    environment.distanceAttenuationParameters.rolloffFactor = .infinity
    environment.listenerVectorOrientation = AVAudio3DVectorOrientation(
      forward: AVAudio3DPoint(), up: AVAudio3DPoint())
    environment.listenerAngularOrientation = AVAudio3DAngularOrientation(
      yaw: .nan, pitch: .infinity, roll: .nan)
    let half = Float(0.5).squareRoot()
    try expectGains(offline, half, half)
    player.position = AVAudio3DPoint(x: .greatestFiniteMagnitude, y: 0, z: 0)
    let found = try gains(offline)
    expectTrue(found.left.isFinite && found.right.isFinite)
  }
}

extension AVAudioEnvironmentNode {
  /// True if the settings of a player for the first input place it there alone.
  fileprivate func destinationTests(_ player: AVAudioPlayerNode) -> Bool {
    guard let destination = player.destination(forMixer: self, bus: 0) else { return false }
    destination.position = AVAudio3DPoint(x: 1, y: 2, z: 3)
    return destination.position == AVAudio3DPoint(x: 1, y: 2, z: 3)
      && player.position != destination.position
  }
}
