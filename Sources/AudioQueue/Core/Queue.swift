package import Codecs
import Logging
package import RealTime
package import Server
import System
package import Timeline

/// The interface that playback and recording queues share. Safe to call on any thread that is not
/// real-time.
package protocol Queue: AnyObject, Sendable {
  /// The format of the data in the buffers.
  var streamFormat: StreamFormat { get }
  /// The stream format if it is PCM, otherwise the PCM format that its packets decode to.
  var format: PCMFormat { get }
  /// Sets the function that is called once a disposal is complete, on any thread.
  func whenDisposed(_ body: @escaping @Sendable () -> Void)

  /// Allocates a buffer of `capacity` bytes. A recording queue puts at most `packets` packets into
  /// it, unless that is 0.
  func allocateBuffer(capacity: Int, packets: Int) throws(QueueError) -> QueueBuffer
  func freeBuffer(_ id: UInt32) throws(QueueError)
  /// Enqueues a buffer. For a playback queue, `bytes` is the size of the data in the buffer and
  /// `packets` describes the packets in it.
  func enqueue(_ id: UInt32, bytes: Int, packets: [PacketExtent]) throws(QueueError)

  /// Throws if the queue has been disposed of or a disposal is pending.
  func checkNotDisposed() throws(QueueError)
  func start(at time: StartTime) throws(QueueError)
  func pause() throws(QueueError)
  /// Ends the run. With `atOnce` the queue hands every buffer back before this returns. Without it
  /// a playback queue plays, and a recording queue fills, the enqueued buffers first.
  func stop(atOnce: Bool) throws(QueueError)
  func flush() throws(QueueError)
  func reset() throws(QueueError)
  func dispose(atOnce: Bool) throws(QueueError)

  /// The decoder configuration (magic cookie), from the app or from the encoder. Linear PCM does
  /// not use it.
  var cookie: [UInt8] { get }
  func setCookie(_ cookie: [UInt8]) throws(QueueError)
  /// Size in bytes of the largest packet. A playback queue whose packets vary in size returns 0.
  var maximumPacketBytes: Int { get }

  var isRunning: Bool { get }
  /// True while the server is gone. Calls that control the queue then throw `invalidated`; it can
  /// still be disposed of.
  var isLost: Bool { get }
  /// The reason why the queue plays or records nothing at present; nil if its server runs cycles.
  var loss: Loss? { get }
  func deviceSampleRate() throws(QueueError) -> Double
  /// The number of sound card channels in the queue's direction.
  func deviceChannels() throws(QueueError) -> Int
  var deviceUID: String { get }
  func setDeviceUID(_ uid: String) throws(QueueError)
  /// Maps each channel to the port with the given index, counted from 0. An empty array keeps the
  /// channels in order. If the mapping changes, an open device is closed and opened again. Call
  /// only while nothing is running or primed.
  func setPortOrder(_ order: [Int]) throws(QueueError)
  /// Notifies the app on the callback thread that a property has a new value. Does not wait for the
  /// callback.
  func announce(_ change: QueueChange)
  var isMetering: Bool { get set }
  /// The level of each channel in the latest cycle; nil while metering is off.
  var levels: [Level]? { get }
  /// Returns each channel's highest sample since the last call. 1 is full scale.
  func takePeaks() -> [Float]
  /// Throws if the queue is running, has been told to start, or is paused.
  func checkIdle() throws(QueueError)
  /// Throws if the queue is running, has been told to start, is paused, or is primed for a start.
  func checkNotPrimed() throws(QueueError)
  /// Throws if the queue renders offline. For calls that need a device.
  func checkOnline() throws(QueueError)
  /// Counts of the events that have interrupted the queue's time so far.
  var discontinuities: Discontinuities { get }
  /// Frames at the queue's rate since the run began, and the current host time in nanoseconds of
  /// CLOCK_MONOTONIC. The frame is negative before a run that is scheduled for a given time, and 0
  /// until the first cycle of another; while the server is away it is that of the loss. Nil if no run
  /// has begun and the queue is not starting.
  var currentTime: (frame: Double, hostTime: UInt64)? { get }
  /// The device; nil if it is not open or its server is gone.
  var runningDevice: Device? { get }
  /// Device time when the server went away, and the rate in Hz; nil while it is there.
  var timesAtLoss: (device: CycleTimes, sampleRate: Double)? { get }
  /// The moment at which the queue's ports were connected.
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

  /// The frame part of `currentTime`.
  package var currentFrame: Double? { currentTime?.frame }

  /// Allocates a buffer of `capacity` bytes.
  package func allocateBuffer(capacity: Int) throws(QueueError) -> QueueBuffer {
    try allocateBuffer(capacity: capacity, packets: 0)
  }

  /// A device frame and the matching host time in nanoseconds of CLOCK_MONOTONIC.
  package typealias Moment = (frame: Int64, hostTime: UInt64)

  /// Current device time; while the server is away, that of the loss. Nil if the device is not open.
  package var deviceTime: Moment? {
    if let last = timesAtLoss?.device { return (last.frame, last.microseconds * 1000) }
    return runningDevice.map(Self.deviceTime)
  }

  /// Reads the frame counter once and converts that frame to the host time.
  private static func deviceTime(of device: Device) -> Moment {
    let now = device.now
    return (now, device.hostTime(ofFrame: now))
  }

  /// Waits until the server carries sound over the queue's connections and runs cycles regularly. A
  /// start frame that is certain to be heard can only be chosen after that. Opens the device. Do
  /// not call from a server callback.
  ///
  /// - Throws: `cannotStart` after five seconds without such cycles.
  package func awaitHeard() throws(QueueError) {
    _ = try deviceSampleRate()
    if let device = runningDevice { try awaitHeard(on: device) }
  }

  /// The first frame that is certain to be heard, without waiting for it; nil if that shows only once it is heard. Opens
  /// the device.
  package var firstHeardFrame: Int64? {
    get throws(QueueError) {
      _ = try deviceSampleRate()
      return runningDevice?.firstHeardFrame(connectionMark)
    }
  }

  func awaitHeard(on device: Device) throws(QueueError) {
    do throws(ServerError) {
      try device.awaitHeard(connectionMark)
    } catch {
      log.error("\(error)")
      throw .cannotStart(error)
    }
  }

  /// Converts a start time to a device frame and a host time. The device must be open. While the server
  /// is away, device time goes on from that of the loss.
  package func deviceTime(of time: StartTime) throws(QueueError) -> Moment {
    try checkOnline()
    if let (last, rate) = timesAtLoss {
      switch time {
      case .atOnce: return (last.frame, last.microseconds * 1000)
      case .frame(let frame): return (frame, last.hostTime(ofFrame: frame, sampleRate: rate))
      case .hostTime(let host): return (last.frame(atHostTime: host, sampleRate: rate), host)
      }
    }
    guard let device = runningDevice else { throw .invalidRunState }
    switch time {
    case .atOnce: return Self.deviceTime(of: device)
    case .frame(let frame): return (frame, device.hostTime(ofFrame: frame))
    case .hostTime(let hostTime): return (device.frame(atHostTime: hostTime), hostTime)
    }
  }

  /// Returns the earliest time, not before `time`, at which a run requested soon can begin. The
  /// device must be open.
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
