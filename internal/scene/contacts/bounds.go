package contacts

// Distances in Å, angles in degrees. "The docking's analysis" is engines/vina/programs/interactions.py: ProLIF's parameters
// (C. Bouysset, S. Fiorucci, J. Cheminform. 13, 72, 2021), which follow Pharmit's and RDKit's features, but for the angle of the
// hydrogen bond.
const (
	// HydrogenBondAngstrom is the most between the two heavy atoms of a hydrogen bond, as in the docking's analysis; longer ones
	// are weak (G. A. Jeffrey, An Introduction to Hydrogen Bonding, 1997).
	HydrogenBondAngstrom = 3.5
	// HydrogenBondDegrees is the least angle at the hydrogen, as in the docking's analysis and in PLIP (S. Salentin et al., Nucleic
	// Acids Res. 43, W443, 2015). A hydrogen that the file does not have stands where the neighbours of its atom put it, and at its
	// best where it can turn.
	HydrogenBondDegrees = 100
	// AcceptorDegrees is the least angle at the acceptor between its neighbour and the donor (I. K. McDonald, J. M. Thornton, J.
	// Mol. Biol. 238, 777, 1994). The docking's analysis has no such bound.
	AcceptorDegrees = 90

	// SaltBridgeAngstrom is the most between two charged atoms, as in the docking's analysis.
	SaltBridgeAngstrom = 4.5
	// MetalAngstrom is the most between a metal and what holds it, as in the docking's analysis.
	MetalAngstrom = 2.8
	// HydrophobicAngstrom is the most between two carbons, or what counts as such, as in the docking's analysis.
	HydrophobicAngstrom = 4.5

	// HalogenAngstrom is the most between a halogen and an acceptor, and the others are the angles at the halogen and at the
	// acceptor, as in the docking's analysis (after P. Auffinger et al., Proc. Natl. Acad. Sci. 101, 16789, 2004).
	HalogenAngstrom                             = 3.5
	leastHalogenDegrees                         = 130
	leastHalogenSideDegrees, mostHalogenDegrees = 80, 140

	// FaceAngstrom and EdgeAngstrom are the most between the middles of two rings that lie face to face, and of which one points an
	// edge at the other; the others bound the angle between the rings, that between a ring's normal and the line of the middles,
	// and, edge to face, how far from a middle the planes cut each other. All as in the docking's analysis.
	FaceAngstrom          = 5.5
	mostFaceDegrees       = 35
	mostFaceOffsetDegrees = 33
	EdgeAngstrom          = 6.5
	leastEdgeDegrees      = 50
	mostEdgeOffsetDegrees = 30
	mostEdgeCutAngstrom   = 1.5
	// PiCationAngstrom is the most between a ring's middle and a charged atom, and the other the most between the ring's normal
	// and the line to it, as in the docking's analysis.
	PiCationAngstrom    = 4.5
	mostPiCationDegrees = 30
	// The angle at the oxygen of a bridging water, as in PLIP (there "omega", 71 to 140 degrees). Its two bonds are hydrogen bonds;
	// the docking's analysis asks for no more.
	leastBridgeDegrees, mostBridgeDegrees = 71, 140

	// Two atoms are bonded that are no farther apart than their covalent radii (B. Cordero et al., Dalton Trans. 2832, 2008) and
	// this, as in most readers of files without bonds (E. C. Meng, R. A. Lewis, J. Comput. Chem. 12, 891, 1991).
	bondSlackAngstrom = 0.4
	// mostRadiusAngstrom is that of iodine, the largest atom here that makes covalent bonds.
	mostRadiusAngstrom = 1.39

	// A ring is aromatic when no atom lies farther from its plane, and no bond between atoms of the first row is longer: aromatic
	// bonds have 1.32 to 1.45 Å, single bonds of carbon 1.47 to 1.54 (F. H. Allen et al., J. Chem. Soc. Perkin Trans. 2, S1, 1987);
	// what is refined loosely gets half of the way between.
	mostRingPlaneAngstrom = 0.15
	mostRingBondAngstrom  = 1.48
	// An oxygen is a carbonyl's when its bond is shorter, a nitrogen an amine's when its bonds are longer: C=O has 1.20 to 1.26 Å,
	// C–OH 1.36 to 1.43, the C–N of amides and anilines 1.32 to 1.39, of amines 1.47 to 1.50 (Allen et al.).
	mostCarbonylAngstrom = 1.30
	leastAmineAngstrom   = 1.42
	// mostImineAngstrom is the longest C=N double bond: 1.28 to 1.33 Å (Allen et al.).
	mostImineAngstrom = 1.32
	// A nitrogen with three neighbours is flat when their angles add up to more; those of a tetrahedron add up to 328 degrees.
	flatDegrees = 350

	// reachAngstrom is how far around the smaller side atoms are looked at: two hydrogen bonds in a row, or a ring's middle and its
	// edge, with what tells an atom's type.
	reachAngstrom = 8.0
	// bondsApart is how many bonds keep two atoms from being in contact: their distance says nothing then.
	bondsApart = 3
)
