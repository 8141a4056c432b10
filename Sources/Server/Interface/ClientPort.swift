package import CRealTime

/// A port of a client.
@safe
package struct ClientPort: @unchecked Sendable {
  package let handle: cue_port
  package init(_ handle: cue_port) { unsafe self.handle = handle }
}
