import CBus
import Glibc
import Synchronization
import System

/// A player on the user's D-Bus, by MPRIS: media keys, desktops and `playerctl` find it as
/// `org.mpris.MediaPlayer2.cuejack`, or with the number of its process behind if another one has that name.
///
/// A thread of its own, `cuejack-mpris`, serves the bus. It begins with the first sound, and waits for calls and changes
/// only. Without a bus, or without libsystemd, nothing happens.
package final class MediaPlayer: Sendable {
  private struct Shared {
    var state = MediaState()
    /// Position in seconds of playing, and the host time at which it was read.
    var position = 0.0
    var time: UInt64 = 0
    var isMoved = false
    var isRunning = false
    var isOver = false
  }
  private let shared = Mutex(Shared())
  private let target: any RemoteTarget
  /// Wakes the thread; -1 if the system has none.
  private let wake = cue_bus_waker()

  /// - Parameter target: What carries out the calls.
  package init(_ target: any RemoteTarget) { self.target = target }

  deinit { if wake >= 0 { Glibc.close(wake) } }

  /// A position that differs by more seconds from the expected one was moved to.
  private static let tolerance = 0.25

  /// Publishes the present state, and begins to serve when the player plays for the first time. Main thread.
  ///
  /// - Parameter position: Seconds of playing.
  package func update(_ state: MediaState, position: Double) {
    guard wake >= 0 else { return }
    let now = HostTime.now
    let (isChanged, isFirst) = shared.withLock { shared in
      let passed = shared.state.status == .playing ? Double(now - shared.time) / 1e9 : 0
      let isMoved =
        shared.isRunning && abs(position - shared.position - passed) > Self.tolerance
      let isChanged = isMoved || shared.state != state
      if isMoved { shared.isMoved = true }
      (shared.state, shared.position, shared.time) = (state, position, now)
      let isFirst = !shared.isRunning && state.status == .playing
      if isFirst { shared.isRunning = true }
      return (isChanged, isFirst)
    }
    if isFirst {
      startThread(named: "cuejack-mpris") { [self] in serve() }
    } else if isChanged {
      signal()
    }
  }

  /// Leaves the bus.
  package func end() {
    shared.withLock { $0.isOver = true }
    if wake >= 0 { signal() }
  }

  private func signal() {
    var one: UInt64 = 1
    _ = unsafe write(wake, &one, 8)
  }

  // MARK: The thread

  private func serve() {
    // Without these variables libsystemd knows no bus: it and its libraries take a megabyte.
    guard
      environmentVariable("DBUS_SESSION_BUS_ADDRESS") ?? environmentVariable("XDG_RUNTIME_DIR")
        != nil, let functions = unsafe cue_bus()?.pointee
    else { return }
    var connection: OpaquePointer?
    guard unsafe functions.sd_bus_open_user(&connection) >= 0, let bus = unsafe connection else {
      return
    }
    let service = unsafe Service(functions, bus, MediaObject(target: target))
    service.object.state = shared.withLock { $0.state }
    if service.register() {
      var isOver = false
      while !isOver, service.process() {
        let (state, isMoved) = shared.withLock { shared in
          defer { shared.isMoved = false }
          isOver = shared.isOver
          return (shared.state, shared.isMoved)
        }
        service.show(state, isMoved: isMoved)
        if !isOver { service.wait(wake) }
      }
    }
    _ = unsafe functions.sd_bus_flush_close_unref(bus)
  }

  /// The object on a connection. One thread.
  @safe
  private final class Service {
    private let functions: cue_bus_functions
    private let bus: OpaquePointer
    var object: MediaObject
    /// The properties that the bus knows.
    private var shown: [String: BusValue] = [:]

    init(_ functions: cue_bus_functions, _ bus: OpaquePointer, _ object: MediaObject) {
      self.functions = functions
      unsafe self.bus = unsafe bus
      self.object = object
    }

    /// Offers the object under a name. False if that fails.
    func register() -> Bool {
      shown = object.changing
      let data = unsafe Unmanaged.passUnretained(self).toOpaque()
      let status = unsafe functions.sd_bus_add_object(
        bus, nil, MediaObject.path,
        { message, data, error in
          guard let message = unsafe message, let data = unsafe data else { return 0 }
          return unsafe Unmanaged<Service>.fromOpaque(data).takeUnretainedValue()
            .handle(message, error)
        }, data)
      guard status >= 0 else { return false }
      let name = "\(MediaObject.root).cuejack"
      return unsafe functions.sd_bus_request_name(bus, name, 0) >= 0
        || functions.sd_bus_request_name(bus, "\(name).instance\(getpid())", 0) >= 0
    }

    /// Handles what has come. False if the connection is gone.
    func process() -> Bool {
      while true {
        let status = unsafe functions.sd_bus_process(bus, nil)
        if status <= 0 { return status == 0 }
      }
    }

    private func handle(_ message: OpaquePointer, _ told: UnsafeMutablePointer<sd_bus_error>?)
      -> CInt
    {
      let call = unsafe BusMessage(functions, message)
      do throws(MediaObject.Failure) {
        if let answer = try object.read(call) {
          guard let reply = unsafe reply(to: message) else { return 0 }
          switch answer {
          case .one(let value): reply.appendVariant(value)
          case .all(let values): reply.append(.table(values))
          }
          unsafe reply.send(on: bus)
        } else if let values = try object.answer(call) {
          guard let reply = unsafe reply(to: message) else { return 0 }
          for value in values { reply.append(value) }
          unsafe reply.send(on: bus)
        } else {
          return 0
        }
        return 1
      } catch {
        return unsafe functions.sd_bus_error_set(told, error.name, error.text)
      }
    }

    private func reply(to message: OpaquePointer) -> BusMessage? {
      var reply: OpaquePointer?
      guard unsafe functions.sd_bus_message_new_method_return(message, &reply) >= 0 else {
        return nil
      }
      return unsafe reply.map { unsafe BusMessage(functions, $0) }
    }

    private func signal(_ interface: String, _ member: String, _ body: (BusMessage) -> Void) {
      var message: OpaquePointer?
      guard
        unsafe functions.sd_bus_message_new_signal(
          bus, &message, MediaObject.path, interface, member) >= 0,
        let message = unsafe message
      else { return }
      let signal = unsafe BusMessage(functions, message)
      body(signal)
      unsafe signal.send(on: bus)
    }

    /// Tells what has changed.
    func show(_ state: MediaState, isMoved: Bool) {
      object.state = state
      let values = object.changing
      let changed = values.filter { shown[$0.key] != $0.value }
      shown = values
      if !changed.isEmpty {
        signal(MediaObject.properties, "PropertiesChanged") {
          $0.append(.string(MediaObject.player))
          $0.append(.table(changed))
          $0.append(.strings([]))
        }
      }
      if isMoved {
        signal(MediaObject.player, "Seeked") { $0.append(.int(object.position)) }
      }
    }

    /// Waits for a message, or until `wake` is written to.
    func wait(_ wake: CInt) {
      var until: UInt64 = .max
      _ = unsafe functions.sd_bus_get_timeout(bus, &until)
      var files = unsafe [
        pollfd(
          fd: functions.sd_bus_get_fd(bus), events: Int16(functions.sd_bus_get_events(bus)),
          revents: 0),
        pollfd(fd: wake, events: Int16(POLLIN), revents: 0),
      ]
      let now = HostTime.now / 1000
      let pause = until == .max ? -1 : CInt(clamping: until > now ? (until - now + 999) / 1000 : 0)
      _ = unsafe poll(&files, 2, pause)
      var count: UInt64 = 0
      _ = unsafe read(wake, &count, 8)
    }
  }
}
