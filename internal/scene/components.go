package scene

import "strings"

// waters are the names of water in structures and simulations.
var waters = setOf("HOH WAT DOD H2O SOL TIP TIP3 TP3")

// additives are what is in crystals because it was in the drop: solvents, buffers, precipitants, cryoprotectants, detergents and
// lipids. "ligand" does not mean them; they have their names.
var additives = setOf(`
1PE 2HT 7PE ACT ACY AZI B3P BCT BME BNG BOG BTB BU3 CAC CHT CIT CLR CO3 CPS CYN DAO DIO DMF DMS DTT DTU EDO EOH EPE ETA
FMT FLC GBL GOL HED HEZ HTG IMD IPA IPH LDA LMT MES MLA MLI MLT MOH MPD MPO MRD MYR NH4 NHE NO3 OLA OLB OLC OGA P33 P6G PDO PE4 PE8
PEG PG0 PG4 PGE PGO PGR PLM PO4 POL SCN SGM SIN SO3 SO4 SPD SPM STE TAR TBU TCE TFA TLA TMA TMO TRS TRT UMQ UNL UNX URE XPE`)

// sugars are the members of glycans.
var sugars = setOf(`
NAG NDG NGA A2G MAN BMA GLC BGC GAL GLA FUC FUL SIA SLB XYP XYS LXC RAM BEM GCU BDP IDR ADA GTR FRU RIB ARA ARB AHR TRE SUC MAL
LAT GCS KDN KDO GMH NGK SGN IDS UAP ASG`)

// proteinNames and nucleicNames are the residues of chains where no file says what its molecules are.
var (
	proteinNames = setOf(`ALA ARG ASN ASP CYS GLN GLU GLY HIS ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL SEC PYL ASX GLX UNK
		HID HIE HIP HSD HSE HSP ASH GLH LYN CYX CYM MSE SEP TPO PTR CSO CSD OCS CME KCX MLY M3L ALY HYP PCA LLP CRO CR2 NME NH2`)
	nucleicNames = setOf("A C G U I DA DC DG DT DU DI N PSU 5MU 5MC OMC OMG 1MA 2MG 7MG H2U YG")
)

// backboneAtoms are the atoms that run through a chain, of proteins and of nucleic acids.
var (
	proteinBackbone = setOf("N CA C O OXT H H1 H2 H3 HN HA HA2 HA3 1H 2H 3H HXT D D1 D2 D3 DA")
	nucleicBackbone = setOf("P OP1 OP2 OP3 O1P O2P O3P O5' C5' C4' O4' C3' O3' C2' O2' C1' O5* C5* C4* O4* C3* O3* C2* O2* C1* " +
		"H5' H5'' H4' H3' H2' H2'' H1' HO2' HO3' HO5'")
)

// oneLetter are the letters of the twenty amino acids.
var oneLetter = map[string]byte{
	"ALA": 'A', "ARG": 'R', "ASN": 'N', "ASP": 'D', "CYS": 'C', "GLN": 'Q', "GLU": 'E', "GLY": 'G', "HIS": 'H', "ILE": 'I',
	"LEU": 'L', "LYS": 'K', "MET": 'M', "PHE": 'F', "PRO": 'P', "SER": 'S', "THR": 'T', "TRP": 'W', "TYR": 'Y', "VAL": 'V',
}

// IsAdditive tells whether a component is in crystals only because it was in the drop.
func IsAdditive(component string) bool { return additives[component] }

// IsSugar tells whether a component is a member of glycans.
func IsSugar(component string) bool { return sugars[component] }

func setOf(names string) map[string]bool {
	set := map[string]bool{}
	for _, name := range strings.Fields(names) {
		set[name] = true
	}
	return set
}

// IsStandard tells whether a component is one of the twenty amino acids or of the usual nucleotides.
func IsStandard(component string) bool {
	return oneLetter[component] != 0 || len(component) <= 2 && nucleicNames[component]
}
