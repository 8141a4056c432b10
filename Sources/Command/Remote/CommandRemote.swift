import Control
import Dispatch

/// The remote control of a command that plays, runs plugins or records. Main thread.
final class CommandRemote {
  private let desk: RemoteDesk
  private let service: RemoteService
  private let makeControls: () -> [CommandControl]
  /// Returns a number that changes with the addresses.
  private let layout: () -> Int
  private var present: (layout: Int, controls: [String: CommandControl])?
  /// The player on the desktop's bus, and what it shows; nil for none.
  private let media: (player: MediaPlayer, read: () -> (state: MediaState, position: Double))?

  /// Starts remote control, and tells its port.
  ///
  /// - Parameters:
  ///   - awake: Signalled when `serve` has something to do.
  ///   - layout: Returns a number that changes with the addresses.
  ///   - media: Returns what the desktop shows of a player, and its position; nil for no player.
  ///   - controls: Returns the addresses. If two have one address, the first one counts.
  /// - Returns: Nil if the options want none, or if there is no port.
  init?(
    _ options: RemoteOptions, _ origin: RemoteReport.Origin, _ awake: DispatchSemaphore,
    layout: @escaping () -> Int = { 0 },
    media: (() -> (state: MediaState, position: Double))? = nil,
    _ controls: @escaping () -> [CommandControl]
  ) {
    guard let port = options.wantedPort else { return nil }
    let desk = RemoteDesk { awake.signal() }
    self.desk = desk
    self.media = media.map { (MediaPlayer(desk), $0) }
    makeControls = controls
    self.layout = layout
    let reach = options.reach
    let service = RemoteService(desk, origin, port: port, reach: reach) {
      Screen.shared.remark($0)
    }
    guard let service else { return nil }
    self.service = service
    publish()
    // A free port is found by the client's name.
    if options.given != nil {
      let hosts = reach == .loopback ? "" : " for \(reach)"
      Screen.shared.say("remote control: UDP port \(service.port)\(hosts)")
    }
  }

  /// True if somebody has lately read values, which are to be published often then.
  var isRead: Bool { desk.isRead }

  /// Carries out the messages that have come, and publishes the present values.
  func serve() {
    for job in desk.takeJobs() {
      let outcome: RemoteWork.Outcome
      do {
        guard let control = present?.controls[job.address] else {
          throw RemoteError.refused(job.address, "there is no such address any more")
        }
        // Edits may have changed the address or its range since the message came.
        try control.act(try control.node.accepted(job.values))
        outcome = .success([])
      } catch let error as RemoteError {
        outcome = .failure(error)
      } catch {
        outcome = .failure(.refused(job.address, "\(error)"))
      }
      // A client that has the answer and reads the value gets the new one.
      publish()
      job.work.end(outcome)
    }
    publish()
  }

  private func publish() {
    var nodes: [RemoteNode]?
    let layout = layout()
    if present?.layout != layout {
      let controls = makeControls()
      let unique = Dictionary(controls.map { ($0.node.address, $0) }) { first, _ in first }
      var seen: Set<String> = []
      nodes = controls.map(\.node).filter { seen.insert($0.address).inserted }
      present = (layout, unique)
    }
    desk.publish(present?.controls.compactMapValues { $0.read() } ?? [:], nodes)
    if let media {
      let now = media.read()
      media.player.update(now.state, position: now.position)
    }
  }

  /// Ends remote control. Messages that wait are refused.
  func end() {
    media?.player.end()
    desk.end()
    service.end()
  }
}
