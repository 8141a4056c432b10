import CJack
import RealTime
import Synchronization

extension JackClient {
  /// Sets all callbacks. Call before the client is activated.
  func setCallbacks(
    _ engine: UnsafeMutablePointer<Engine>, _ notices: any ServerNotices
  ) {
    unsafe jack_set_process_callback(client, { unsafe processAfterRefills($0, $1) }, engine)
    let link = NoticeLink(notices, self)
    let argument = unsafe Unmanaged.passRetained(link).toOpaque()
    retained.withLock { $0 = UInt(bitPattern: argument) }
    // jackd's library calls the second one; PipeWire's calls one of the two, depending on its
    // version.
    unsafe jack_on_shutdown(
      client, { argument in unsafe NoticeLink.notify(argument) { $0.serverLost() } }, argument)
    unsafe jack_on_info_shutdown(
      client, { _, _, argument in unsafe NoticeLink.notify(argument) { $0.serverLost() } }, argument
    )
    unsafe jack_set_xrun_callback(
      client,
      { argument in
        unsafe NoticeLink.notify(argument) { $0.notices?.xrun() }
        return 0
      }, argument)
    unsafe jack_set_sample_rate_callback(
      client,
      { _, argument in
        // JACK also calls it when the client starts.
        unsafe NoticeLink.notify(argument) { $0.notices?.rateChanged() }
        return 0
      }, argument)
    unsafe jack_set_buffer_size_callback(
      client,
      { frames, argument in
        unsafe NoticeLink.notify(argument) { $0.periodIs(Int(frames)) }
        return 0
      }, argument)
    unsafe jack_set_freewheel_callback(
      client,
      { isOn, argument in unsafe NoticeLink.notify(argument) { $0.freewheels(isOn != 0) } },
      argument)
    unsafe jack_set_latency_callback(
      client, { mode, argument in unsafe NoticeLink.notify(argument) { $0.latencyIsWanted(mode) } },
      argument)
    unsafe jack_set_graph_order_callback(
      client,
      { argument in
        unsafe NoticeLink.notify(argument) { $0.orderChanged() }
        return 0
      }, argument)
    unsafe jack_set_port_connect_callback(
      client,
      { a, b, _, argument in unsafe NoticeLink.notify(argument) { $0.connectionsChanged(a, b) } },
      argument)
    unsafe jack_set_port_rename_callback(
      client,
      { port, _, _, argument in unsafe NoticeLink.notify(argument) { $0.portRenamed(port) } },
      argument)
    unsafe jack_set_port_registration_callback(
      client,
      { port, isThere, argument in
        unsafe NoticeLink.notify(argument) {
          if isThere != 0 { $0.portAppeared(port) } else { $0.portLeft() }
        }
      }, argument)
  }
}
