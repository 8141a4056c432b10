import Glibc
import Server

/// The servers of this user that can be reached.
package enum ServerDirectory {
  /// Names of the servers that answer or can be started, the default one first.
  package static var names: [String] {
    let standard = JackServer()
    var names = standard.isReachable ? [standard.name] : []
    names += JackServer.runningNames.filter { $0 != standard.name }.sorted()
    return names
  }
}
