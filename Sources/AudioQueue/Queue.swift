package import Codecs
import Logging
package import RealTime
package import Server
package import Timeline

/// What queues that play and queues that record have in common. Safe on every thread that is not real
/// time.
package protocol Queue: AnyObject, Sendable {
  /// What buffers hold.
  var streamFormat: StreamFormat { get }
  /// The same if that is PCM; else what it decodes to.
  var format: PCMFormat { get }
  /// Has `body` run once a disposal is complete, on any thread.
  func whenDisposed(_ body: @escaping @Sendable () -> Void)

  /// Allocates a buffer of `capacity` bytes; one that records gets at most `packets` packets, if that is
  /// not 0.
  func allocateBuffer(capacity: Int, packets: Int) throws(QueueError) -> QueueBuffer
  func freeBuffer(_ id: UInt32) throws(QueueError)
  /// Enqueues a buffer; `bytes` is what a queue that plays finds in it, and `packets` where its packets lie.
  func enqueue(_ id: UInt32, bytes: Int, packets: [PacketExtent]) throws(QueueError)

  /// Throws if the queue has been disposed of, or is about to be.
  func checkNotDisposed() throws(QueueError)
  func start(at time: StartTime) throws(QueueError)
  func pause() throws(QueueError)
  /// Ends the run: handing every buffer back before it returns, or soon, with nothing lost.
  func stop(atOnce: Bool) throws(QueueError)
  func flush() throws(QueueError)
  func reset() throws(QueueError)
  func dispose(atOnce: Bool) throws(QueueError)

  /// What a decoder needs besides the packets: what the app gave, or the encoder gives. Linear PCM has no
  /// use for it.
  var cookie: [UInt8] { get }
  func setCookie(_ cookie: [UInt8]) throws(QueueError)
  /// Bytes of the largest packet that is recorded, as far as one can be known when the queue plays: else 0.
  var maximumPacketBytes: Int { get }

  var isRunning: Bool { get }
  func deviceSampleRate() throws(QueueError) -> Double
  /// The channels of the sound card, in the queue's direction.
  func deviceChannels() throws(QueueError) -> Int
  var deviceUID: String { get }
  func setDeviceUID(_ uid: String) throws(QueueError)
  /// Has each channel go to, or come from, the port with the number given, from 0; in order if there are
  /// none. A device that is open is opened anew if that is a change. While nothing runs or is primed.
  func setPortOrder(_ order: [Int]) throws(QueueError)
  /// Has the app told, on its place and after this has returned, that a property has another value.
  func announce(_ change: QueueChange)
  var isMetering: Bool { get set }
  /// Each channel's level in the latest cycle; nil while levels are not measured.
  var levels: [Level]? { get }
  /// Each channel's highest sample since the last call; 1 is full scale.
  func takePeaks() -> [Float]
  /// Throws if the queue runs, is told to or is paused.
  func checkIdle() throws(QueueError)
  /// Throws if the queue runs, is told to, is paused, or has readied something for a start.
  func checkNotPrimed() throws(QueueError)
  /// Throws if the queue renders offline: what is asked for is a device's.
  func checkOnline() throws(QueueError)
  /// What has broken the queue's time so far.
  var discontinuities: Discontinuities { get }
  /// Frames at the queue's rate since the run began, and the host time of this moment in nanoseconds of
  /// CLOCK_MONOTONIC. Before a run that begins at a given time the frames are below zero. Nil if no run has
  /// begun or is to begin at a given time.
  var currentTime: (frame: Double, hostTime: UInt64)? { get }
  /// The device, if it is open and its server there.
  var runningDevice: Device? { get }
  /// When the queue's ports were connected.
  var connectionMark: ConnectionMark { get }
}

extension OutputQueue: Queue {
  package func stop(atOnce: Bool) throws(QueueError) {
    if atOnce { try stop() } else { try stopAfterPlaying() }
  }

  package func dispose(atOnce: Bool) throws(QueueError) { try dispose(afterPlaying: !atOnce) }
}

extension Queue {
  package func checkOnline() throws(QueueError) {}
  package func checkNotPrimed() throws(QueueError) { try checkIdle() }

  /// The frames of `currentTime`.
  package var currentFrame: Double? { currentTime?.frame }

  /// Allocates a buffer of `capacity` bytes.
  package func allocateBuffer(capacity: Int) throws(QueueError) -> QueueBuffer {
    try allocateBuffer(capacity: capacity, packets: 0)
  }

  /// A device frame, and the host time that goes with it in nanoseconds of CLOCK_MONOTONIC.
  package typealias Moment = (frame: Int64, hostTime: UInt64)

  /// Device time now; nil if the device is not open.
  package var deviceTime: Moment? {
    runningDevice.map(Self.deviceTime)
  }

  /// Reads the counter once: host time is what the frame translates to.
  private static func deviceTime(of device: Device) -> Moment {
    let now = device.now
    return (now, device.hostTime(ofFrame: now))
  }

  /// Waits until the server carries sound over the queue's connections and runs cycles regularly: only then can
  /// a start frame be chosen that is heard. Opens the device. Not from a callback of the server.
  ///
  /// - Throws: After five seconds without such cycles.
  package func awaitHeard() throws(QueueError) {
    _ = try deviceSampleRate()
    if let device = runningDevice { try awaitHeard(on: device) }
  }

  func awaitHeard(on device: Device) throws(QueueError) {
    do throws(ServerError) {
      try device.awaitHeard(connectionMark)
    } catch {
      log.error("\(error)")
      throw .cannotStart(error)
    }
  }

  /// A time in both of its forms. Needs an open device.
  package func deviceTime(of time: StartTime) throws(QueueError) -> Moment {
    try checkOnline()
    guard let device = runningDevice else { throw .invalidRunState }
    switch time {
    case .atOnce: return Self.deviceTime(of: device)
    case .frame(let frame): return (frame, device.hostTime(ofFrame: frame))
    case .hostTime(let hostTime): return (device.frame(atHostTime: hostTime), hostTime)
    }
  }

  /// The first time, not earlier than `time`, at which a run that is asked for soon can begin. Needs
  /// an open device.
  package func nearestStart(to time: StartTime) throws(QueueError) -> Moment {
    try checkOnline()
    guard let device = runningDevice else { throw .invalidRunState }
    try awaitHeard(on: device)
    guard let earliest = device.earliestStart else { throw .invalidRunState }
    let wanted = try deviceTime(of: time)
    if time != .atOnce && wanted.frame >= earliest { return wanted }
    return (earliest, device.hostTime(ofFrame: earliest))
  }
}
