import AudioUnits
import CAudioToolbox
import CRealTime

/// Reason why a function of the graph API fails.
enum AUGraphError: APIFailure {
  case badArgument(String)
  case noSuchGraph
  case graph(UnitGraphError)

  var status: OSStatus {
    switch self {
    case .badArgument: kAudio_ParamError
    case .noSuchGraph: kAudio_ParamError
    case .graph(let error):
      switch error {
      case .nodeNotFound: kAUGraphErr_NodeNotFound
      case .invalidConnection: kAUGraphErr_InvalidConnection
      case .outputNode: kAUGraphErr_OutputNodeErr
      case .notOpen: kAUGraphErr_CannotDoInCurrentContext
      case .disposed: kAudio_ParamError
      case .unit(let error): AudioUnitError.unit(error).status
      }
    }
  }

  var reason: String {
    switch self {
    case .badArgument(let reason): reason
    case .noSuchGraph: "there is no such graph"
    case .graph(let error):
      switch error {
      case .nodeNotFound(let node): "the graph has no node \(node)"
      case .invalidConnection(let reason), .outputNode(let reason): reason
      case .notOpen: "the graph is not open"
      case .disposed: "the graph was disposed of"
      case .unit(let error): AudioUnitError.unit(error).reason
      }
    }
  }
}
