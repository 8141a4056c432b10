import CRealTime
import Glibc
import Logging
import RealTime
import Synchronization
import System
import Timeline

/// The second port of a voice of one channel.
extension Device {
  /// Adds a second port to a mono voice and moves every second destination of the first port to it,
  /// without a click. Not real-time safe; takes some cycles.
  ///
  /// - Parameters:
  ///   - give: Hands the port to the voice, which writes silence to it until the switch. Called
  ///     now, and after each return of the server on the event thread while no cycle runs the
  ///     voice.
  ///   - willSwitch: Tells the voice how many connections the first port has
  ///     (`cue_rt_port_connections`) in the first cycle in which the second port carries the right
  ///     channel.
  /// - Returns: The name of the port.
  package func addSecondPort(
    to voice: VoiceMemory, give: @escaping @Sendable (ClientPort) -> Void,
    willSwitch: (_ connectionsLeft: Int) -> Void
  ) throws(ServerError) -> String {
    let arrival = losses.load(ordering: .acquiring)
    let client = client
    let attachment = attachments.withLock { $0.entries.first { $0.memory === voice } }
    guard let attachment, attachment.ports.count == 1, let first = attachment.portNames.first else {
      throw .lost(server: client.serverName)
    }
    let second = "\(attachment.prefix)2"
    let port = try client.addPort(named: second, .output)
    let isGiven = attachments.withLock { attachments in
      // A port of a client that was lost meanwhile does not belong to the next client.
      guard losses.load(ordering: .acquiring) == arrival,
        let i = attachments.entries.firstIndex(where: { $0.memory === voice }),
        attachments.entries[i].ports.count == 1
      else { return false }
      give(port)
      attachments.entries[i].ports.append(port)
      attachments.entries[i].portNames.append(second)
      attachments.entries[i].giveSecondPort = give
      return true
    }
    guard isGiven else {
      client.removePort(port)
      throw .lost(server: client.serverName)
    }
    awaitCycles(1)
    let destinations = client.connections(of: first)
    var moved: [String] = []
    for i in stride(from: 1, to: destinations.count, by: 2) {
      do throws(ServerError) {
        try connect(second, to: destinations[i])
        moved.append(destinations[i])
      } catch {
        log.warning("\(error): it stays with the first port")
      }
    }
    willSwitch(destinations.count - moved.count)
    for destination in moved { disconnect(first, from: destination) }
    return second
  }
}
