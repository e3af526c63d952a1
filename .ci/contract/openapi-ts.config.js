// What the generator makes of the document: a client over fetch. DOCUMENT is a path or an address.
export default {
  input: process.env.DOCUMENT,
  output: { path: 'client', importFileExtension: '.js' },
  plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
};
