import Foundation
import Server
import Sessions
import TestSupport

@testable import Control

/// Runs a new session on a server, with no connections to its sound card.
func openSession(_ document: SessionDocument, in folder: URL, on jack: JackDaemon) throws
  -> RunningSession
{
  var options = RunningSession.Options(JackServer(named: jack.name)) { _ in }
  options.connectsToCard = false
  let running = RunningSession(options)
  try running.open(try SessionStore(creating: folder.path + "/s", document))
  return running
}
