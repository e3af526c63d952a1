"""Types of the API's requests and answers. Made by tools/generate.py from api/testdata/openapi.json: change them there."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class AmberInput(TypedDict):
    coordinates: DynamicsArtifact
    kind: Literal["amber"]
    prmtop: DynamicsArtifact


class ArtifactReference(TypedDict):
    artifactId: str
    byteSize: int
    format: Literal["pdb", "mmcif", "pdbqt", "sdf", "mol2", "json", "log"]
    mediaType: str
    schema: Literal["service.docking.artifact/v1"]
    sha256: str
    storageKey: str


class ArtifactSource(TypedDict):
    artifact: ArtifactReference
    kind: Literal["artifact"]


class BlastHSP(TypedDict):
    alignmentLength: int
    bitScore: float
    evalue: float
    gaps: int
    identities: int
    identityPercent: float
    midline: str
    positives: int
    queryAlignment: str
    queryFrom: int
    queryStrand: str | None
    queryTo: int
    rank: int
    rawScore: int
    subjectAlignment: str
    subjectFrom: int
    subjectStrand: str | None
    subjectTo: int


class BlastHit(TypedDict):
    alignmentsOmitted: bool
    hsps: list[BlastHSP]
    queryCoveragePercent: float
    queryId: str
    queryIndex: int
    rank: int
    subjectId: str
    subjectLength: int
    subjectTitle: str


class BlastHitList(TypedDict):
    hits: list[BlastHit]
    nextCursor: str | None


class Breakdown(TypedDict):
    compute: float
    egress: float
    software: float
    startFee: float
    storage: float


class CCDSource(TypedDict):
    componentId: str
    kind: Literal["ccd"]


ComponentFate = TypedDict("ComponentFate", {
    "class": 'Literal["cofactor", "metal", "additive", "sugar", "modified", "water", "ligand"]',
    "component": 'str',
    "count": 'int',
    "name": 'NotRequired[str]',
    "option": 'NotRequired[Literal["retainComponents", "removeComponents", "waters"]]',
    "residues": 'NotRequired[list[str]]',
    "status": 'Literal["kept", "removed"]',
    "why": 'str',
})


class Cost(TypedDict):
    accrued: float
    currency: str
    estimated: float
    final: float | None
    held: float


class CostRange(TypedDict):
    high: float
    likely: float
    low: float


class DockingBox(TypedDict):
    center: list[float]
    notes: list[str]
    size: list[float]
    source: Literal["explicit", "ligandFile", "pocketLigand", "pocketResidues", "fpocket"]


class DockingComparedLigands(TypedDict):
    identical: int
    ligands: int
    scoreDifferenceMaxKcalMol: float | None


class DockingConvergence(TypedDict):
    agreeingRounds: int
    converged: bool
    exhaustiveness: int
    poseSpreadAngstrom: float
    rounds: list[DockingRound]
    scoreSpreadKcalMol: float


class DockingCost(TypedDict):
    accrued: float
    currency: str
    estimated: float
    final: float | None
    held: float


class DockingCounts(TypedDict):
    completed: int
    failed: int
    total: int


class DockingEngine(TypedDict):
    name: str
    programs: dict[str, str]
    scoringFunction: str
    version: str | None
    workerImageDigest: str | None


class DockingExecution(TypedDict):
    preparedReceptor: NotRequired[PreparedReceptor]
    shardSize: NotRequired[int]


class DockingPose(TypedDict):
    analysed: bool
    artifacts: DockingPoseArtifacts
    checks: DockingPoseChecks
    cnnAffinityPk: float | None
    cnnScore: float | None
    createdAt: str
    label: str
    ligandId: str
    poseId: str
    rank: int
    referenceRmsdAngstrom: float | None
    resultId: str
    rmsdLowerBound: float
    rmsdUpperBound: float
    runId: str
    scoreKcalMol: float
    terms: DockingTerms
    uiLinks: UILinks
    vinaRank: int


class DockingPoseArtifact(TypedDict):
    artifactId: str
    byteSize: int
    format: str
    jobId: str
    mediaType: str
    name: str
    record: int
    role: Literal["result", "frame", "log", "preview", "provenance", "checkpoint"]
    schema: Literal["service.docking.artifact/v1"]
    sha256: str
    storageKey: str
    verification: DockingVerification


class DockingPoseArtifacts(TypedDict):
    complexPdb: DockingPoseArtifact
    pdbqt: DockingPoseArtifact
    sdf: DockingPoseArtifact


class DockingPoseChecks(TypedDict):
    passed: bool
    tests: dict[str, bool]
    tool: str


class DockingReceptor(TypedDict):
    cacheKey: str | None
    identitySha256: str | None
    name: str
    notes: list[str]
    pdbId: str | None
    preparation: dict[str, Any] | None
    preparationSha256: str | None
    protonation: str | None
    reused: bool | None
    selection: DockingReceptorSelection
    toolchainSha256: str | None


class DockingReceptorSelection(TypedDict):
    assemblyId: str | None
    chains: list[str] | None
    model: int | None


class DockingReport(TypedDict):
    picture: NotRequired[Literal["none", "molstar", "cycles"]]


class DockingReproduction(TypedDict):
    compared: DockingComparedLigands
    ofRunId: str
    reasons: list[str]
    tolerance: DockingTolerance
    verdict: Literal["PENDING", "IDENTICAL", "WITHIN_TOLERANCE", "DIFFERENT"]


class DockingRequest(TypedDict):
    idempotencyKey: str
    requestId: str
    runId: str


class DockingResult(TypedDict):
    batchId: str | None
    bestScoreKcalMol: float | None
    canonicalSmiles: str | None
    cnnAffinityPk: float | None
    cnnScore: float | None
    convergence: DockingConvergence
    createdAt: str
    dockCpuSeconds: float | None
    dockedSmiles: str | None
    error: str | None
    failureStage: str | None
    formalCharge: int | None
    heavyAtoms: int | None
    inchiKey: str | None
    inputSmiles: str | None
    interactions: list[str] | None
    label: str
    ligandEfficiency: float | None
    ligandId: str
    ligandIndex: int
    notes: list[str]
    passedChecks: bool | None
    poseCount: int
    rank: int | None
    resultId: str
    rotatableBonds: int | None
    runId: str
    source: Literal["ccd", "smiles", "artifact"]
    status: Literal["PENDING", "PREPARING", "DOCKING", "COMPLETED", "FAILED"]
    uiLinks: UILinks
    updatedAt: str


class DockingResultList(TypedDict):
    nextCursor: str | None
    results: list[DockingResult]


class DockingRound(TypedDict):
    bestScoreKcalMol: float | None
    exhaustiveness: int
    foundBest: bool
    rmsdToBestAngstrom: float | None
    seed: int


class DockingRun(TypedDict):
    batchId: str | None
    box: DockingBox
    cost: DockingCost
    counts: DockingCounts
    cpuThreads: int
    createdAt: str
    energyRangeKcalMol: float
    engine: DockingEngine
    exhaustiveness: int
    exhaustivenessAuto: bool
    experimentId: str
    jobId: str
    jobName: str
    ligandCount: int
    numModes: int
    rankBy: Literal["vina", "cnn"]
    receptor: DockingReceptor
    reproducesRunId: str | None
    reproduction: NotRequired[DockingReproduction]
    requestId: str | None
    requestRunId: str | None
    runId: str
    seed: int
    status: Literal["SUBMITTED", "QUEUED", "RUNNING", "CANCELLING", "COMPLETED", "COMPLETED_WITH_FAILURES", "FAILED", "CANCELLED"]
    timing: DockingTiming
    uiLinks: UILinks
    validation: DockingRunValidation


class DockingRunList(TypedDict):
    nextCursor: str | None
    runs: list[DockingRun]


class DockingRunValidation(TypedDict):
    closestRmsdAngstrom: float | None
    cnnScore: float | None
    converged: bool | None
    gateRmsdAngstrom: float | None
    nativeComponentId: str
    passed: bool | None
    redockRmsdAngstrom: float | None


class DockingTerms(TypedDict):
    inter: float
    intra: float
    torsional: float
    unbound: float


class DockingTiming(TypedDict):
    cpuSeconds: float
    dockCpuSeconds: float
    finishedAt: str | None
    receptorCpuSeconds: float
    startedAt: str | None
    submittedAt: str
    wallSeconds: float | None


class DockingTolerance(TypedDict):
    scoreKcalMol: float


class DockingValidation(TypedDict):
    gateRmsdAngstrom: NotRequired[float]
    nativeReference: NotRequired[NativeReference]
    redockBound: NotRequired[bool]


class DockingVerification(TypedDict):
    status: Literal["PENDING", "VERIFIED", "FAILED"]
    verifiedAt: str | None


class DynamicsArtifact(TypedDict):
    artifactId: str
    byteSize: int
    format: Literal["pdb", "mmcif", "prmtop", "inpcrd", "dcd", "csv", "json", "checkpoint", "openmm-state-xml"]
    mediaType: str
    schema: Literal["molecule.openmm.artifact/v1"]
    sha256: str
    storageKey: str


class DynamicsExecution(TypedDict):
    platform: DynamicsPlatform
    restartCheckpoint: NotRequired[DynamicsArtifact]
    restartProvenance: NotRequired[RestartProvenance]
    workerImageDigest: str


class DynamicsOutputs(TypedDict):
    analysisIntervalSteps: int
    checkpointIntervalSteps: int
    stateIntervalSteps: int
    trajectoryFormat: Literal["dcd"]
    trajectoryIntervalSteps: int


class DynamicsPlatform(TypedDict):
    deviceIndex: str
    name: Literal["CPU", "CUDA", "OpenCL"]
    precision: Literal["single", "mixed", "double"]


class DynamicsProtocol(TypedDict):
    constraints: Literal["HBonds"]
    equilibration: Equilibration
    forceField: Literal["amber14", "amber19", "amber-prmtop"]
    frictionPerPs: float
    ionicStrengthM: float
    minimization: Minimization
    nonbondedMethod: Literal["PME"]
    pH: float
    pressureBar: float
    productionSteps: int
    removeCenterOfMassMotion: bool
    seed: int
    temperatureK: float
    timestepFs: float
    waterModel: Literal["tip3p", "tip3pfb", "input-parameters"]


class DynamicsRequest(TypedDict):
    confirmed: Literal[True]
    execution: DynamicsExecution
    input: ProteinInput | AmberInput
    outputs: DynamicsOutputs
    protocol: DynamicsProtocol
    requestId: str
    runId: str
    schema: Literal["molecule.openmm.request/v1"]


class Equilibration(TypedDict):
    nptSteps: int
    nvtSteps: int


class EstimateResponse(TypedDict):
    assumed: NotRequired[str]
    breakdown: Breakdown
    currency: str
    estimatedCost: float
    hasLicenseFee: bool
    knownTasks: NotRequired[int]
    licenseNames: list[str]
    range: CostRange
    receptor: NotRequired[Forecast]
    tasks: NotRequired[int]
    variableRates: VariableRates


class FixedProtonationState(TypedDict):
    chain: str
    insertionCode: NotRequired[str]
    reason: NotRequired[str]
    residue: int
    residueName: Literal["ASP", "GLU"]
    state: Literal["anionic", "neutral"]


class Forecast(TypedDict):
    box: ForecastBox
    components: list[ComponentFate]
    notes: list[str]


class ForecastBox(TypedDict):
    centerAngstrom: NotRequired[list[float]]
    ligand: NotRequired[ForecastLigand]
    sizeAngstrom: NotRequired[float | list[float]]
    source: Literal["explicit", "ligandFile", "pocketLigand", "pocketResidues", "fpocket"]


class ForecastLigand(TypedDict):
    chain: str
    componentId: str
    heavyAtoms: int
    insertionCode: NotRequired[str]
    residue: int


class Job(TypedDict):
    attempts: int
    cost: Cost
    createdAt: str
    error: JobError
    filesDeletedAt: NotRequired[str]
    finishedAt: str | None
    jobId: str
    jobName: str
    jobType: str
    preview: Preview
    progress: Progress
    provider: str
    queue: Queue
    recovery: RecoveryMode
    simulator: str | None
    startedAt: str | None
    status: Literal["SUBMITTED", "QUEUED", "RUNNING", "CANCELLING", "COMPLETED", "COMPLETED_WITH_FAILURES", "FAILED", "CANCELLED"]
    statusHistory: list[StatusChange]
    statusReason: str | None
    terminal: bool
    updatedAt: str


class JobError(TypedDict):
    code: str
    failureClass: Literal["USER_INPUT", "EXECUTOR", "SYSTEM", "TIMEOUT", "LICENSE", "COST_LIMIT"]
    message: str
    retryable: bool


class LigandConfirmation(TypedDict):
    query: str
    sourceId: str
    token: str


class LigandEntry(TypedDict):
    confirmation: NotRequired[LigandConfirmation]
    label: str
    ligandId: str
    preparation: NotRequired[LigandPreparation]
    source: CCDSource | SMILESSource | ArtifactSource


class LigandPreparation(TypedDict):
    addHydrogens: NotRequired[Literal[True]]
    generate3d: NotRequired[Literal[True]]
    protonationPh: NotRequired[float]


class Minimization(TypedDict):
    enabled: bool
    maxIterations: int
    toleranceKjMolNm: float


class MultipartInitResponse(TypedDict):
    checksumAlgorithm: str | None
    expiresIn: int
    headers: dict[str, str]
    key: str
    partCount: int
    partSize: int
    parts: list[UploadPartURL]
    provider: str
    uploadId: str


class MultipartStatus(TypedDict):
    complete: bool
    key: str
    missing: list[int]
    partCount: int
    partSize: int
    provider: str
    received: list[UploadPartReceived]
    uploadId: str


class NativeReference(TypedDict):
    chain: str
    componentId: str
    insertionCode: NotRequired[str]
    residue: int


class Output(TypedDict):
    artifactId: str
    byteSize: int
    format: str
    frame: NotRequired[int]
    mediaType: str
    name: str
    role: Literal["result", "frame", "log", "preview", "provenance", "checkpoint"]
    sha256: str
    storageKey: str
    taskIndex: int
    url: str
    urlExpiresAt: str


class Outputs(TypedDict):
    complete: bool
    jobId: str
    nextCursor: str | None
    outputs: list[Output]
    status: str


class PartURLsResponse(TypedDict):
    expiresIn: int
    partCount: int
    partSize: int
    parts: list[UploadPartSigned]
    provider: str
    uploadId: str


class PocketResidue(TypedDict):
    chain: str
    insertionCode: NotRequired[str]
    residue: int


class PreparedReceptor(TypedDict):
    artifact: NotRequired[ArtifactReference]
    cacheKey: str
    preparationSha256: str
    receptorIdentitySha256: str
    toolchainSha256: str
    workerImageDigest: str


class Preview(TypedDict):
    expiresAt: str
    url: str


class Progress(TypedDict):
    framesDone: NotRequired[int]
    framesTotal: NotRequired[int]
    message: str
    percent: float
    stage: str
    tasks: TaskCounts


class ProgressEvent(TypedDict):
    message: str
    percent: float


class ProteinInput(TypedDict):
    coordinates: DynamicsArtifact
    kind: Literal["protein"]


class Queue(TypedDict):
    estimatedStartAt: str | None
    position: int


class Receipt(TypedDict):
    payload: str
    payloadType: Literal["application/vnd.in-toto+json"]
    signatures: list[ReceiptSignature]


class ReceiptSignature(TypedDict):
    keyid: str
    sig: str


class ReceptorPreparation(TypedDict):
    addHydrogens: NotRequired[Literal[True]]
    fixedProtonationStates: NotRequired[list[FixedProtonationState]]
    forceField: NotRequired[Literal["AMBER", "CHARMM", "PARSE"]]
    protonationMethod: NotRequired[Literal["pdb2pqr-propka", "meeko"]]
    protonationPh: NotRequired[float]
    removeComponents: NotRequired[list[str]]
    retainComponents: NotRequired[list[str]]
    waters: NotRequired[Literal["none", "structural"]]


class Recovery(TypedDict):
    mode: NotRequired[Literal["standard", "resumable"]]


class RecoveryMode(TypedDict):
    mode: Literal["standard", "resumable"]


class RestartProvenance(TypedDict):
    integratorSha256: str
    openmmVersion: str
    platformName: Literal["CPU", "CUDA", "OpenCL"]
    platformSha256: str
    requestSha256: str
    systemSha256: str
    topologySha256: str
    workerImageDigest: str


class SMILESSource(TypedDict):
    kind: Literal["smiles"]
    smiles: str


class SimulationParams(TypedDict):
    blastDatabaseChecksum: NotRequired[str]
    blastDatabaseDate: NotRequired[str]
    blastDatabaseName: NotRequired[str]
    blastDatabasePath: NotRequired[str]
    blastDatabaseType: NotRequired[Literal["prot", "nucl"]]
    blastDatabaseVersion: NotRequired[str]
    blastEvalue: NotRequired[float]
    blastMaxHits: NotRequired[int]
    blastMaxOutputBytes: NotRequired[int]
    blastThreads: NotRequired[int]
    blastTimeoutSeconds: NotRequired[int]
    boxCenterAngstrom: NotRequired[list[float]]
    boxLigandArtifact: NotRequired[ArtifactReference]
    boxSizeAngstrom: NotRequired[float | list[float]]
    boxSource: NotRequired[Literal["boundLigand", "fpocket"]]
    cpuThreads: NotRequired[int]
    dockingExecution: NotRequired[DockingExecution]
    dockingReport: NotRequired[DockingReport]
    dockingValidation: NotRequired[DockingValidation]
    energyRangeKcalMol: NotRequired[float]
    estimatedRuntimeSeconds: NotRequired[float]
    exhaustiveness: NotRequired[int | Literal["auto"]]
    foldLengths: NotRequired[list[int]]
    foldModel: NotRequired[Literal["esmfold", "alphafold"]]
    foldModels: NotRequired[int]
    foldMsa: NotRequired[Literal["single_sequence", "database"]]
    foldRecycles: NotRequired[int]
    foldRelax: NotRequired[bool]
    foldSeeds: NotRequired[int]
    foldTemplates: NotRequired[list[str]]
    ligandIdentity: NotRequired[LigandEntry]
    ligandLibrary: NotRequired[list[LigandEntry]]
    maxPockets: NotRequired[int]
    numModes: NotRequired[int]
    openmmRequest: NotRequired[DynamicsRequest]
    pocketLigand: NotRequired[str]
    pocketLigandChain: NotRequired[str]
    pocketLigandResidue: NotRequired[int]
    pocketResidues: NotRequired[list[PocketResidue]]
    rankBy: NotRequired[Literal["vina", "cnn"]]
    receptorArtifact: NotRequired[ArtifactReference]
    receptorAssemblyId: NotRequired[str]
    receptorChains: NotRequired[list[str]]
    receptorModel: NotRequired[int]
    receptorPdbId: NotRequired[str]
    receptorPreparation: NotRequired[ReceptorPreparation]
    seed: NotRequired[int]
    waveDecks: NotRequired[list[str]]
    waveScenarios: NotRequired[str]
    waveStart: NotRequired[Literal["restart", "cold"]]
    waveSwitches: NotRequired[str]


class StatusChange(TypedDict):
    at: str
    reason: str
    status: str


class StatusEvent(TypedDict):
    reason: str
    status: str
    terminal: bool


class SubmitRequest(TypedDict):
    attachments: NotRequired[list[str]]
    dockingRequest: NotRequired[DockingRequest]
    frameEnd: NotRequired[int]
    frameStart: NotRequired[int]
    frameStep: NotRequired[int]
    idempotencyKey: NotRequired[str]
    jobName: NotRequired[str]
    jobType: NotRequired[Literal["render", "simulation", "molecular", "pipeline"]]
    metadata: NotRequired[dict[str, Any]]
    noReuse: NotRequired[bool]
    outputFormat: NotRequired[Literal["EXR", "PNG", "JPEG"]]
    parameters: NotRequired[dict[str, str]]
    priority: NotRequired[int]
    recovery: NotRequired[Recovery]
    sceneFile: NotRequired[str]
    simulationParams: NotRequired[SimulationParams]
    simulator: NotRequired[str]
    taskCount: NotRequired[int]


class SubmitResponse(TypedDict):
    currency: str
    estimatedCost: float
    idempotentReplay: NotRequired[bool]
    jobId: str
    jobType: str
    knownTasks: NotRequired[int]
    message: str
    provider: str
    receptor: NotRequired[Forecast]
    status: Literal["SUBMITTED"]
    tasks: NotRequired[int]


class TaskCounts(TypedDict):
    cancelled: int
    failed: int
    pending: int
    queued: int
    running: int
    succeeded: int
    total: int


TaskError = TypedDict("TaskError", {
    "class": 'Literal["USER_INPUT", "EXECUTOR", "SYSTEM", "TIMEOUT", "LICENSE", "COST_LIMIT"]',
    "code": 'str',
    "items": 'NotRequired[list[TaskItemFailure]]',
    "message": 'str',
})


class TaskEvent(TypedDict):
    attempt: int
    error: NotRequired[TaskError]
    name: str
    stage: str
    status: Literal["PENDING", "QUEUED", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED"]
    taskIndex: int


class TaskItemFailure(TypedDict):
    item: str
    label: NotRequired[str]
    message: str
    step: str


class UILinks(TypedDict):
    studio: str


class UploadPartDone(TypedDict):
    checksumSha256: NotRequired[str]
    etag: NotRequired[str]
    partNumber: int


class UploadPartReceived(TypedDict):
    etag: str
    partNumber: int
    size: NotRequired[int]


class UploadPartSigned(TypedDict):
    headers: dict[str, str]
    partNumber: int
    url: str


class UploadPartURL(TypedDict):
    partNumber: int
    url: str


class UploadURLResponse(TypedDict):
    expiresIn: int
    headers: NotRequired[dict[str, str]]
    method: Literal["PUT"]
    provider: str
    s3Key: str
    uploadUrl: str


class VariableRates(TypedDict):
    egressRate: float
    gpuRate: NotRequired[float]
    hardwareRate: float
