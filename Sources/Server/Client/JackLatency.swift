import CJack
import Synchronization

/// A `PortLatency` with JACK port handles instead of names.
struct JackLatency: Sendable {
  struct Port: Hashable, Sendable {
    private let bits: UInt
    init?(_ port: OpaquePointer?) {
      guard let port = unsafe port else { return nil }
      bits = UInt(bitPattern: port)
    }
    var port: OpaquePointer? { unsafe OpaquePointer(bitPattern: bits) }
  }
  let output: Port
  let inputs: [Port]
  let frames: UInt32
}

extension JackClient {
  func setLatencies(_ list: [PortLatency]) {
    let isThere: Void? = whileOpen {
      func port(_ name: String) -> JackLatency.Port? {
        unsafe JackLatency.Port(ownPort(name))
      }
      let found = list.compactMap { latency -> JackLatency? in
        guard let output = port(latency.output) else { return nil }
        return JackLatency(
          output: output, inputs: latency.inputs.compactMap(port), frames: UInt32(latency.frames))
      }
      latencies.withLock { $0 = found }
    }
    guard isThere != nil else { return }
    // The server calls the latency callback of every client, this one too, before it answers.
    asking {
      _ = whileOpen {
        requests.withLock { change in
          defer { note(&change) }
          _ = unsafe jack_recompute_total_latencies(client)
        }
      }
    }
  }

  func updateLatencies() {
    guard latenciesAreStale.exchange(false, ordering: .acquiringAndReleasing) else { return }
    // No port may be removed meanwhile.
    _ = whileOpen {
      requests.withLock { _ in
        setLatencyRanges(JackCaptureLatency)
        setLatencyRanges(JackPlaybackLatency)
      }
    }
  }

  /// Sets port latencies. On jackd, JACK's latency callback calls it on its notification thread:
  /// jackd asks client after client, and the next one reads what this one has set. On PipeWire the
  /// event thread calls it.
  ///
  /// For capture latency it sets each output's range from its inputs. For playback latency it sets
  /// each input's range from its outputs.
  func setLatencyRanges(_ mode: jack_latency_callback_mode_t) {
    let list = latencies.withLock { $0 }
    if mode == JackCaptureLatency {
      for latency in list {
        var range = Self.range(of: latency.inputs.map { ($0, latency.frames) }, mode)
        if latency.inputs.isEmpty {
          range = jack_latency_range_t(min: latency.frames, max: latency.frames)
        }
        unsafe jack_port_set_latency_range(latency.output.port, mode, &range)
      }
      return
    }
    for input in Set(list.flatMap(\.inputs)) {
      let ways = list.filter { $0.inputs.contains(input) }.map { ($0.output, $0.frames) }
      var range = Self.range(of: ways, mode)
      unsafe jack_port_set_latency_range(input.port, mode, &range)
    }
  }

  /// Returns the range over several paths, each given by a port and the frames to add.
  private static func range(
    of ways: [(JackLatency.Port, UInt32)], _ mode: jack_latency_callback_mode_t
  ) -> jack_latency_range_t {
    var all = jack_latency_range_t(min: .max, max: 0)
    for (port, frames) in ways {
      var range = jack_latency_range_t()
      unsafe jack_port_get_latency_range(port.port, mode, &range)
      all.min = min(all.min, range.min &+ frames)
      all.max = max(all.max, range.max &+ frames)
    }
    return all
  }
}
