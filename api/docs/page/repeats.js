// Fills the table of repetitions. It is a file of its own because the page's Content-Security-Policy allows no inline scripts.
const counts = document.currentScript.dataset.counts;
const chance = document.getElementById("chance");

// percent has as many digits as tell one difference from none.
const percent = (tally) => (tally.sameRate === undefined ? "–"
  : tally.different === 0 ? "100%" : `${(Math.floor(tally.sameRate * 1e6) / 1e4).toFixed(4)}%`);

const add = (body, simulator, time, tally) => {
  const row = body.insertRow();
  [simulator, time, tally.repeated, tally.same, tally.different, tally.notComparable, percent(tally)]
    .forEach((text) => { row.insertCell().textContent = String(text); });
};

fetch(counts).then((answer) => {
  if (!answer.ok) throw new Error(`the service answered ${answer.status}`);
  return answer.json();
}).then((report) => {
  chance.textContent = report.chance > 0
    ? `Each task is chosen with a chance of ${report.chance}. ${report.open} wait to be run again.`
    : "Just now no task is run again.";
  const table = document.getElementById("counts");
  const rows = [{ simulator: "all", allTime: report.allTime, last90Days: report.last90Days }, ...report.simulators];
  for (const row of rows) {
    add(table.tBodies[0], row.simulator, "all", row.allTime);
    add(table.tBodies[0], row.simulator, "last 90 days", row.last90Days);
  }
  table.hidden = false;
}).catch((error) => { chance.textContent = `The counts could not be read: ${error.message}.`; });
