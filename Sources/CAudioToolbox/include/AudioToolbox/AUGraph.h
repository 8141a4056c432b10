// Graphs of audio units: nodes, their connections and render callbacks, and one output unit that drives
// them.
//
// Any thread that is not real time may call these functions.
#ifndef CUEJACK_AUGRAPH_H
#define CUEJACK_AUGRAPH_H

#include "../AudioUnit/AudioUnit.h"

CUE_HEADER_BEGIN
CF_EXTERN_C_BEGIN

/// A graph. The pointer is a number that is never followed.
typedef struct OpaqueAUGraph *AUGraph;

/// A node of a graph: a number, from 1 on.
typedef SInt32 AUNode;

CF_ENUM(OSStatus) {
  kAUGraphErr_NodeNotFound = -10860,
  /// The nodes are the same, one comes before the other already, or one has no such bus.
  kAUGraphErr_InvalidConnection = -10861,
  /// A graph has one output unit. Without one it cannot start.
  kAUGraphErr_OutputNodeErr = -10862,
  /// The graph is not open, or not initialised.
  kAUGraphErr_CannotDoInCurrentContext = -10863,
  kAUGraphErr_InvalidAudioUnit = -10864
};

// MARK: Graphs

/// Makes an empty graph.
extern OSStatus NewAUGraph(AUGraph _Nullable *_Nonnull outGraph);

/// Stops a graph and disposes of its units. NULL is no error.
extern OSStatus DisposeAUGraph(AUGraph _Nullable inGraph);

/// Adds a node. If the graph is open, it gets its unit at once; if it is initialised, the unit is, too.
extern OSStatus AUGraphAddNode(AUGraph inGraph, const AudioComponentDescription *inDescription,
                               AUNode *outNode);

/// Removes a node with its connections, and disposes of its unit. The output unit of a graph that runs
/// is refused with kAUGraphErr_OutputNodeErr.
extern OSStatus AUGraphRemoveNode(AUGraph inGraph, AUNode inNode);

/// Returns the number of nodes.
extern OSStatus AUGraphGetNodeCount(AUGraph inGraph, UInt32 *outNumberOfNodes);

/// Returns the node of an index from 0 on.
extern OSStatus AUGraphGetIndNode(AUGraph inGraph, UInt32 inIndex, AUNode *outNode);

/// Returns a node's description and unit; NULL for a unit while the graph is closed.
extern OSStatus AUGraphNodeInfo(AUGraph inGraph, AUNode inNode,
                                AudioComponentDescription *_Nullable outDescription,
                                AudioUnit _Nullable *_Nullable outAudioUnit);

// MARK: Connections

/// Connects an output of a node to an input of another, in place of what was there. In a graph that is
/// initialised it waits for AUGraphUpdate. The input gets the output's format, if it can.
extern OSStatus AUGraphConnectNodeInput(AUGraph inGraph, AUNode inSourceNode,
                                        UInt32 inSourceOutputNumber, AUNode inDestNode,
                                        UInt32 inDestInputNumber);

/// Sets an input's render callback in place of what was there; without a function the input gets
/// nothing. In a graph that is initialised it waits for AUGraphUpdate.
extern OSStatus AUGraphSetNodeInputCallback(AUGraph inGraph, AUNode inDestNode,
                                            UInt32 inDestInputNumber,
                                            const AURenderCallbackStruct *inInputCallback);

/// Removes what supplies an input. In a graph that is initialised it waits for AUGraphUpdate.
extern OSStatus AUGraphDisconnectNodeInput(AUGraph inGraph, AUNode inDestNode,
                                           UInt32 inDestInputNumber);

/// Removes all connections and render callbacks. In a graph that is initialised it waits for
/// AUGraphUpdate.
extern OSStatus AUGraphClearConnections(AUGraph inGraph);

/// Applies what waits. In a graph that runs, an input of a mixer or of the output unit fades out
/// before it changes and in afterwards; each takes one cycle.
///
/// - outIsUpdated: may be NULL; true: nothing waits any more.
extern OSStatus AUGraphUpdate(AUGraph inGraph, Boolean *_Nullable outIsUpdated);

CF_ENUM(UInt32) { kAUNodeInteraction_Connection = 1, kAUNodeInteraction_InputCallback = 2 };

struct AudioUnitNodeConnection {
  AUNode sourceNode;
  UInt32 sourceOutputNumber;
  AUNode destNode;
  UInt32 destInputNumber;
};
typedef struct AudioUnitNodeConnection AUNodeConnection;
typedef struct AudioUnitNodeConnection AudioUnitNodeConnection;

struct AUNodeRenderCallback {
  AUNode destNode;
  AudioUnitElement destInputNumber;
  AURenderCallbackStruct cback;
};
typedef struct AUNodeRenderCallback AUNodeRenderCallback;

/// A connection or a render callback.
struct AUNodeInteraction {
  UInt32 nodeInteractionType;
  union {
    AUNodeConnection connection;
    AUNodeRenderCallback inputCallback;
  } nodeInteraction;
};
typedef struct AUNodeInteraction AUNodeInteraction;

/// Returns the number of connections and render callbacks, also of those that wait.
extern OSStatus AUGraphGetNumberOfInteractions(AUGraph inGraph, UInt32 *outNumInteractions);

/// Returns one of them.
extern OSStatus AUGraphGetInteractionInfo(AUGraph inGraph, UInt32 inInteractionIndex,
                                          AUNodeInteraction *outInteraction);

/// Returns the number of those that a node has a part in.
extern OSStatus AUGraphCountNodeInteractions(AUGraph inGraph, AUNode inNode,
                                             UInt32 *outNumInteractions);

/// Copies those that a node has a part in, as many as there is room for.
///
/// - ioNumInteractions: the room; afterwards the number copied.
extern OSStatus AUGraphGetNodeInteractions(AUGraph inGraph, AUNode inNode,
                                           UInt32 *ioNumInteractions,
                                           AUNodeInteraction *outInteractions);

// MARK: States

/// Makes the nodes' units. Has no effect if the graph is open.
extern OSStatus AUGraphOpen(AUGraph inGraph);

/// Stops the graph and disposes of its units. It keeps its nodes and connections.
extern OSStatus AUGraphClose(AUGraph inGraph);

/// Makes all connections and initialises all units, from the first to the last. Has no effect if the
/// graph is initialised.
extern OSStatus AUGraphInitialize(AUGraph inGraph);

/// Stops the graph and uninitialises its units.
extern OSStatus AUGraphUninitialize(AUGraph inGraph);

/// Starts the output unit. Has no effect if the graph runs.
extern OSStatus AUGraphStart(AUGraph inGraph);

/// Stops the output unit, however often it was started. When this returns, none of the graph's
/// callbacks runs, unless one of them is the caller.
extern OSStatus AUGraphStop(AUGraph inGraph);

extern OSStatus AUGraphIsOpen(AUGraph inGraph, Boolean *outIsOpen);
extern OSStatus AUGraphIsInitialized(AUGraph inGraph, Boolean *outIsInitialized);
extern OSStatus AUGraphIsRunning(AUGraph inGraph, Boolean *outIsRunning);

/// Returns the share of its time that the latest cycle took to render, 0 to 1 and more; 0 while the
/// graph does not run.
extern OSStatus AUGraphGetCPULoad(AUGraph inGraph, Float32 *outAverageCPULoad);

/// Returns the largest such share since the last call.
extern OSStatus AUGraphGetMaxCPULoad(AUGraph inGraph, Float32 *outMaxLoad);

/// Adds a function to call before and after each render of the output unit.
extern OSStatus AUGraphAddRenderNotify(AUGraph inGraph, AURenderCallback inCallback,
                                       void *_Nullable inRefCon);

/// Removes such a function. When this returns, it is not called, unless it is the caller.
extern OSStatus AUGraphRemoveRenderNotify(AUGraph inGraph, AURenderCallback inCallback,
                                          void *_Nullable inRefCon);

// MARK: Before 10.5

/// Adds a node, as AUGraphAddNode does. The class data is ignored.
extern OSStatus AUGraphNewNode(AUGraph inGraph, const ComponentDescription *inDescription,
                               UInt32 inClassDataSize, const void *_Nullable inClassData,
                               AUNode *outNode);

/// Returns a node's description and unit. There is no class data: its size is 0.
extern OSStatus AUGraphGetNodeInfo(AUGraph inGraph, AUNode inNode,
                                   ComponentDescription *_Nullable outDescription,
                                   UInt32 *_Nullable outClassDataSize,
                                   void *_Nullable *_Nullable outClassData,
                                   AudioUnit _Nullable *_Nullable outAudioUnit);

CF_EXTERN_C_END
CUE_HEADER_END

#endif
