// Submits a docking job with the generated client and waits for its end: what a user of the document would write.
// usage: node submit.js BASE_URL API_KEY RECEPTOR_FILE. It prints what came of the job as JSON.
import { createClient } from './client/client/index.js';
import { createUploadUrl, estimateJob, getJobOutputs, getJobStatus, submitJob } from './client/sdk.gen.js';
import type { SimulationParams } from './client/types.gen.js';

declare const process: { argv: string[]; exitCode: number };

const [, , baseUrl, apiKey, receptorPath] = process.argv;
const client = createClient({ baseUrl: `${baseUrl}/api`, headers: { Authorization: `Bearer ${apiKey}` } });

// @ts-ignore: node's own types are not installed for this one call
const { readFile } = await import('node:fs/promises');
const receptor: Uint8Array<ArrayBuffer> = await readFile(receptorPath);

const upload = await createUploadUrl({
  client, throwOnError: true,
  body: { filename: 'receptor.pdbqt', contentType: 'chemical/x-pdbqt', size: receptor.byteLength },
});
const put = await fetch(upload.data.uploadUrl, { method: upload.data.method, headers: upload.data.headers, body: receptor });
if (!put.ok) throw new Error(`upload: ${put.status} ${await put.text()}`);

const simulationParams: SimulationParams = {
  ligandIdentity: { ligandId: 'aspirin', label: 'Aspirin', source: { kind: 'smiles', smiles: 'CC(=O)Oc1ccccc1C(=O)O' } },
  boxCenterAngstrom: [15.19, 53.9, 16.92],
  boxSizeAngstrom: 18,
  exhaustiveness: 1,
  seed: 42,
};
const estimate = await estimateJob({
  client, throwOnError: true,
  body: { jobType: 'simulation', simulator: 'vina', simulationParams },
});
const submitted = await submitJob({
  client, throwOnError: true,
  headers: { 'Idempotency-Key': `generated-client-${upload.data.s3Key}`.slice(0, 255) },
  body: { jobType: 'simulation', simulator: 'vina', sceneFile: upload.data.s3Key, simulationParams },
});
if (submitted.data.estimatedCost !== estimate.data.estimatedCost) throw new Error('the job is not what the estimate said');

let job = await getJobStatus({ client, throwOnError: true, path: { id: submitted.data.jobId } });
while (!job.data!.terminal) {
  await new Promise((resolve) => setTimeout(resolve, 200));
  job = await getJobStatus({ client, throwOnError: true, path: { id: submitted.data.jobId } });
}
const outputs = await getJobOutputs({ client, throwOnError: true, path: { id: submitted.data.jobId } });

// A refusal has the envelope's members, as the document says.
const refused = await submitJob({ client, body: { jobType: 'simulation', simulator: 'smina', sceneFile: upload.data.s3Key } });

console.log(JSON.stringify({
  status: job.data!.status, outputs: outputs.data.outputs.length, refusal: refused.error?.code,
}));
